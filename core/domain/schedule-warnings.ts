/**
 * What a user should know about a schedule that is valid: hours that the clocks skip or repeat, days that some months lack, and
 * crontab's OR. The next years are not known here (the domain has no clock), so a few reference years stand for them.
 */
import { daysInMonth, nextWallSecond } from "./cron-calendar.ts";
import type { CronFields } from "./cron-fields.ts";
import { formatLocal } from "./schedule-instant.ts";
import type { ZoneClock } from "./time-zone.ts";
import { firstInstantAtWall } from "./time-zone.ts";

export const REFERENCE_FROM_MS = Date.UTC(2026, 0, 1);
const REFERENCE_TO_MS = Date.UTC(2030, 0, 1);
/** Two changes a year, with room for the zones that have four. */
const CHANGES_MAX = 32;

export function cronWarnings(fields: CronFields, clock: ZoneClock): string[] {
  const warnings: string[] = [];
  if (!fields.days.both) {
    warnings.push("day of month and day of week are both set: it runs on days that match either");
  }
  const missing = missingMonthDay(fields);
  if (missing !== null) {
    warnings.push(`months without a day ${missing} are left out; L is the last day of a month`);
  }
  if (!fields.followsRealTime) warnings.push(...clockChangeWarnings(fields, clock));
  return warnings;
}

/** Warnings for one local time. */
export function localTimeWarnings(clock: ZoneClock, wallMs: number): string[] {
  const instantMs = firstInstantAtWall(clock, wallMs);
  const { offsetMs } = clock.pieceAt(instantMs);
  if (instantMs + offsetMs !== wallMs) {
    const runs = formatLocal(instantMs, offsetMs);
    return [`the clocks in ${clock.name} skip this time: it runs at ${runs}`];
  }
  const change = firstChangeAfter(clock, instantMs, instantMs + 86_400_000);
  if (change !== null && change.atMs + change.toMs <= wallMs) {
    return [`this time comes twice in ${clock.name}: it runs the first time`];
  }
  return [];
}

function missingMonthDay(fields: CronFields): number | null {
  if (!fields.monthDayIsSet) return null;
  const lengths = Array.from({ length: 12 }, (_, index) => index + 1)
    .filter((month) => (fields.months & (1 << month)) !== 0)
    .map((month) => daysInMonth(2001, month));
  const shortest = Math.min(...lengths);
  for (let day = shortest + 1; day <= 31; day += 1) {
    if ((fields.days.monthDays & (1 << (day - 1))) !== 0) return day;
  }
  return null;
}

type ClockChange = { readonly atMs: number; readonly fromMs: number; readonly toMs: number };

function firstChangeAfter(clock: ZoneClock, fromMs: number, untilMs: number): ClockChange | null {
  let piece = clock.pieceAt(fromMs);
  while (piece.endMs < untilMs) {
    const next = clock.pieceAt(piece.endMs);
    if (next.offsetMs !== piece.offsetMs) {
      return { atMs: piece.endMs, fromMs: piece.offsetMs, toMs: next.offsetMs };
    }
    piece = next;
  }
  return null;
}

/** At most one warning of each kind, with its first date. */
function clockChangeWarnings(fields: CronFields, clock: ZoneClock): string[] {
  let skipped: string | null = null;
  let repeated: string | null = null;
  let change = firstChangeAfter(clock, REFERENCE_FROM_MS, REFERENCE_TO_MS);
  for (let changes = 0; change !== null && changes < CHANGES_MAX; changes += 1) {
    const { atMs, fromMs, toMs } = change;
    const first = nextWallSecond(fields, (atMs + Math.min(fromMs, toMs)) / 1_000);
    const meets = first !== null && first * 1_000 < atMs + Math.max(fromMs, toMs);
    if (meets) {
      const wall = new Date(first * 1_000).toISOString().slice(0, 16).replace("T", " ");
      if (toMs > fromMs) {
        skipped ??= `the clocks in ${clock.name} skip some of its times, such as ${wall}: it then runs once, when the gap ends`;
      } else {
        repeated ??= `some of its times come twice in ${clock.name}, such as ${wall}: it then runs the first time only`;
      }
    }
    change = firstChangeAfter(clock, atMs, REFERENCE_TO_MS);
  }
  return [skipped, repeated].filter((warning) => warning !== null);
}
