/**
 * Schedules: at, cron, every. Pure and without a clock: the next run is always computed from the previous one.
 *
 * `at` and `every` are arithmetic here; cron is cron-fields.ts (the expression), cron-calendar.ts (the wall), time-zone.ts (the offsets)
 * and cron.ts (the three together). The decision and its figures: docs/decisions/0002-cron-by-wall-clock.md.
 */

import { BoundedCache } from "./bounded-cache.ts";
import { LAST_INSTANT_MS, nextCronRun } from "./cron.ts";
import { readCron, readNewCron } from "./cron-fields.ts";
import { OperatingError } from "./errors.ts";
import type { FieldProblem } from "./field-problem.ts";
import { EVERY_SECONDS_MAX } from "./limits.ts";
import { formatLocal, readIsoTime } from "./schedule-instant.ts";
import { cronWarnings, localTimeWarnings, REFERENCE_FROM_MS } from "./schedule-warnings.ts";
import type { ZoneClock } from "./time-zone.ts";
import { canonicalTimeZone, firstInstantAtWall, zoneClock } from "./time-zone.ts";

/** A schedule as stored and answered by the API: canonical JSON. */
export type Schedule =
  /** `at` as given: an instant with its offset, or a local time and `timezone`. */
  | { type: "at"; at: string; timezone?: string }
  /** `timezone` by its canonical IANA name. */
  | { type: "cron"; expression: string; timezone: string }
  /** Runs at every whole number of `seconds` before and after `anchor` (ISO instant): a phase, not a start. */
  | { type: "every"; seconds: number; anchor: string };

export interface CompiledSchedule {
  /** First occurrence strictly after `afterMs` (epoch ms), or null when none is left (up to year 9999). */
  next(afterMs: number): number | null;
}

/** When a task may run: start inclusive, end exclusive. */
export interface ScheduleWindow {
  startAtMs: number | null;
  endAtMs: number | null;
}

/** A stored schedule that cannot go on: it does not compile, or does not advance. Its task is marked; no other is held up. */
export class ScheduleError extends OperatingError {
  override readonly name = "ScheduleError";
  readonly code = "schedule-invalid";
  readonly retryable = false;
}

type Parsed =
  | { kind: "ok"; schedule: Schedule; warnings: string[] }
  /** Their fields are relative to the schedule, such as "expression"; an unknown field is named itself. */
  | { kind: "invalid"; problems: FieldProblem[] };

const EPOCH = "1970-01-01T00:00:00.000Z";
const FIELDS: Readonly<Record<Schedule["type"], readonly string[]>> = {
  at: ["at", "timezone"],
  cron: ["expression", "timezone"],
  every: ["seconds", "anchor"],
};
const COMPILED_MAX = 10_000;

/** Validates untrusted JSON. Unknown fields are refused. Never throws; takes milliseconds at most. */
export function parseSchedule(input: unknown): Parsed {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return invalid("type", 'the schedule must be an object with a "type" of at, cron or every');
  }
  const fields = input as Record<string, unknown>;
  const { type } = fields;
  if (type !== "at" && type !== "cron" && type !== "every") {
    return invalid("type", "must be at, cron or every");
  }
  const unknown = Object.keys(fields).filter(
    (key) => key !== "type" && !FIELDS[type].includes(key),
  );
  if (unknown.length > 0) {
    const message = `is not a field of a schedule of type ${type}`;
    return { kind: "invalid", problems: unknown.slice(0, 20).map((field) => ({ field, message })) };
  }
  switch (type) {
    case "at":
      return parseAt(fields);
    case "cron":
      return parseCron(fields);
    case "every":
      return parseEvery(fields);
  }
}

function parseAt({ at, timezone }: Record<string, unknown>): Parsed {
  if (typeof at !== "string") {
    return invalid("at", 'must be text in ISO 8601, such as "2026-12-01T09:00:00Z"');
  }
  const time = readIsoTime(at);
  if (time === null) {
    return invalid("at", 'is not a time in ISO 8601, such as "2026-12-01T09:00:00Z"');
  }
  if (timezone === undefined) {
    if (time.offsetMs === null) return invalid("at", "needs an offset (Z, +02:00) or a timezone");
    return checkedAt({ type: "at", at }, []);
  }
  const zone = readZone(timezone);
  if (zone === null) return invalid("timezone", zoneMessage(timezone));
  if (time.offsetMs !== null) {
    return invalid("timezone", "cannot stand beside an offset in at: give one of them");
  }
  return checkedAt(
    { type: "at", at, timezone: zone },
    localTimeWarnings(zoneClock(zone), time.wallMs),
  );
}

function checkedAt(schedule: AtSchedule, warnings: string[]): Parsed {
  if (!isInRange(atInstantMs(schedule))) return invalid("at", "must be from 1970 to 9999");
  return { kind: "ok", schedule, warnings };
}

function parseCron({ expression, timezone = "UTC" }: Record<string, unknown>): Parsed {
  const zone = readZone(timezone);
  const problems: FieldProblem[] =
    zone === null ? [{ field: "timezone", message: zoneMessage(timezone) }] : [];
  const reading =
    typeof expression === "string"
      ? readNewCron(expression)
      : { kind: "invalid" as const, message: 'must be text, such as "0 9 * * *"' };
  if (reading.kind === "invalid") {
    problems.unshift({ field: "expression", message: reading.message });
  }
  if (reading.kind === "invalid" || zone === null) return { kind: "invalid", problems };
  const clock = zoneClock(zone);
  if (nextCronRun(reading.fields, clock, REFERENCE_FROM_MS) === null) {
    return invalid("expression", `never fires: the clocks in ${zone} skip all of its times`);
  }
  return {
    kind: "ok",
    schedule: { type: "cron", expression: reading.expression, timezone: zone },
    warnings: cronWarnings(reading.fields, clock),
  };
}

function parseEvery({ seconds, anchor = EPOCH }: Record<string, unknown>): Parsed {
  const problems: FieldProblem[] = [];
  const isPeriod =
    typeof seconds === "number" &&
    Number.isInteger(seconds) &&
    seconds >= 1 &&
    seconds <= EVERY_SECONDS_MAX;
  if (!isPeriod) {
    const message = `must be a whole number from 1 to ${EVERY_SECONDS_MAX} (366 days)`;
    problems.push({ field: "seconds", message });
  }
  const anchorMs = typeof anchor === "string" ? instantOf(anchor) : null;
  if (anchorMs === null || !isInRange(anchorMs)) {
    const message = 'must be an instant with its offset, such as "2026-12-01T09:00:00Z"';
    problems.push({ field: "anchor", message });
  }
  if (!isPeriod || anchorMs === null || problems.length > 0) return { kind: "invalid", problems };
  const schedule: Schedule = { type: "every", seconds, anchor: new Date(anchorMs).toISOString() };
  return { kind: "ok", schedule, warnings: [] };
}

type AtSchedule = Extract<Schedule, { type: "at" }>;
type CronSchedule = Extract<Schedule, { type: "cron" }>;
type EverySchedule = Extract<Schedule, { type: "every" }>;

const compiledCrons = new BoundedCache<string, CompiledSchedule>(COMPILED_MAX);

/** Throws ScheduleError when the schedule cannot be compiled. Crons are kept in a bounded cache. */
export function compileSchedule(schedule: Schedule): CompiledSchedule {
  switch (schedule.type) {
    case "at": {
      const atMs = atInstantMs(schedule);
      return { next: (afterMs) => (atMs > afterMs ? atMs : null) };
    }
    case "cron": {
      const key = `${schedule.timezone} ${schedule.expression}`;
      return compiledCrons.getOrMake(key, () => compileCron(schedule));
    }
    case "every":
      return compileEvery(schedule);
    default:
      throw new ScheduleError(`unknown type of schedule: ${JSON.stringify(schedule)}`);
  }
}

function compileCron({ expression, timezone }: CronSchedule): CompiledSchedule {
  const reading = readCron(expression);
  if (reading.kind === "invalid") throw new ScheduleError(`expression ${reading.message}`);
  if (canonicalTimeZone(timezone) === null) throw new ScheduleError(zoneMessage(timezone));
  const { fields } = reading;
  // The clock is fetched at every call: holding it here would keep more zones alive than their cache allows.
  return { next: (afterMs) => nextCronRun(fields, zoneClock(timezone), afterMs) };
}

function compileEvery({ seconds, anchor }: EverySchedule): CompiledSchedule {
  const anchorMs = instantOf(anchor);
  if (anchorMs === null) throw new ScheduleError(`anchor ${JSON.stringify(anchor)} is no instant`);
  const periodMs = seconds * 1_000;
  return {
    next(afterMs) {
      const fromMs = Math.max(afterMs, -1);
      const periods = Math.floor((fromMs - anchorMs) / periodMs) + 1;
      const runMs = anchorMs + periods * periodMs;
      return runMs > LAST_INSTANT_MS ? null : runMs;
    },
  };
}

/**
 * First occurrence strictly after `afterMs` inside the window, or null when none is left. Throws ScheduleError when the
 * schedule cannot be compiled or does not advance.
 */
export function nextOccurrence(
  schedule: Schedule,
  window: ScheduleWindow,
  afterMs: number,
): number | null {
  return nextInWindow(compileSchedule(schedule), window, afterMs);
}

/** As `nextOccurrence`, of a schedule compiled before. */
export function nextInWindow(
  compiled: CompiledSchedule,
  { startAtMs, endAtMs }: ScheduleWindow,
  afterMs: number,
): number | null {
  const fromMs = startAtMs === null ? afterMs : Math.max(afterMs, startAtMs - 1);
  const runMs = compiled.next(fromMs);
  if (runMs === null) return null;
  // A schedule that stands still would make its task due for ever: an error stops one task, a loop stops them all. Written so
  // that NaN does not pass.
  if (!(runMs > fromMs)) throw new ScheduleError(`does not advance: ${runMs} after ${fromMs}`);
  return endAtMs !== null && runMs >= endAtMs ? null : runMs;
}

/** Local time with offset of an instant, `2026-03-29T09:00:00+02:00`: in the schedule's zone, an `at`'s own offset, or UTC. */
export function localTime(schedule: Schedule, instantMs: number): string {
  const { timezone } = schedule.type === "every" ? { timezone: "UTC" } : schedule;
  if (timezone !== undefined) {
    return formatLocal(instantMs, clockOf(timezone).pieceAt(instantMs).offsetMs);
  }
  const time = schedule.type === "at" ? readIsoTime(schedule.at) : null;
  return formatLocal(instantMs, time?.offsetMs ?? 0);
}

/** The instant (epoch ms) of an `at`: in a gap of its zone the gap's end, in a repeated hour the first pass. Throws ScheduleError. */
export function atInstantMs({ at, timezone }: AtSchedule): number {
  const time = readIsoTime(at);
  if (time === null) throw new ScheduleError(`at ${JSON.stringify(at)} is no time in ISO 8601`);
  if (time.offsetMs !== null) return time.wallMs - time.offsetMs;
  if (timezone === undefined) throw new ScheduleError("at needs an offset or a timezone");
  return firstInstantAtWall(clockOf(timezone), time.wallMs);
}

function clockOf(timezone: string): ZoneClock {
  if (canonicalTimeZone(timezone) === null) throw new ScheduleError(zoneMessage(timezone));
  return zoneClock(timezone);
}

function instantOf(text: string): number | null {
  const time = readIsoTime(text);
  return time === null || time.offsetMs === null ? null : time.wallMs - time.offsetMs;
}

function isInRange(instantMs: number): boolean {
  return instantMs >= 0 && instantMs <= LAST_INSTANT_MS;
}

function readZone(timezone: unknown): string | null {
  return typeof timezone === "string" ? canonicalTimeZone(timezone) : null;
}

function zoneMessage(timezone: unknown): string {
  const shown = typeof timezone === "string" ? JSON.stringify(timezone.slice(0, 64)) : "it";
  return `${shown} is not an IANA time zone, such as Europe/Madrid`;
}

function invalid(field: string, message: string): Parsed {
  return { kind: "invalid", problems: [{ field, message }] };
}
