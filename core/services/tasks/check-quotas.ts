/** A tenant's quotas that one task can break by itself: the size of its body and how often it runs. */
import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { Quotas } from "#core/domain/quotas.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import { compileSchedule } from "#core/domain/schedule.ts";
import { REFERENCE_FROM_MS } from "#core/domain/schedule-warnings.ts";
import type { HttpRequest } from "#core/domain/task.ts";

/** The parts of a task that are looked at; a missing one (the schedule of a manual run) is not. */
export interface QuotaSubject {
  readonly schedule?: Schedule;
  readonly request?: Partial<Pick<HttpRequest, "body" | "bodyBase64">>;
}

/** Runs of a cron that are looked at: weeks of any cron that keeps to an interval of an hour, and every minute of a day but a few. */
const RUNS_LOOKED_AT = 1_000;

/** What is beyond the quotas, field by field, with the limit and the use; empty when nothing is. Throws ScheduleError for a schedule that cannot be compiled. */
export function checkQuotas({ schedule, request }: QuotaSubject, quotas: Quotas): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (schedule !== undefined) problems.push(...checkInterval(schedule, quotas.minIntervalSeconds));
  if (request !== undefined) problems.push(...checkBody(request, quotas.bodyBytesMax));
  return problems;
}

function checkInterval(schedule: Schedule, minSeconds: number): FieldProblem[] {
  // No schedule can run more often than once a second.
  if (schedule.type === "at" || minSeconds <= 1) return [];
  const seconds =
    schedule.type === "every" ? schedule.seconds : smallestGapSeconds(schedule, minSeconds);
  if (seconds >= minSeconds) return [];
  const field = schedule.type === "every" ? "schedule.seconds" : "schedule.expression";
  const message = `runs ${seconds} s apart; this tenant's tasks run at least ${minSeconds} s apart (quota minIntervalSeconds)`;
  return [{ field, message }];
}

/**
 * The first gap below `enoughSeconds` between runs on the wall clock, else the smallest. On the wall clock and from a fixed
 * day: the same expression must not be taken in winter and refused in the week in which the clocks change.
 */
function smallestGapSeconds(
  { expression }: Extract<Schedule, { type: "cron" }>,
  enoughSeconds: number,
): number {
  const compiled = compileSchedule({ type: "cron", expression, timezone: "UTC" });
  let smallestMs = Number.POSITIVE_INFINITY;
  let lastMs = compiled.next(REFERENCE_FROM_MS - 1);
  for (let looked = 1; looked < RUNS_LOOKED_AT && lastMs !== null; looked++) {
    const nextMs = compiled.next(lastMs);
    if (nextMs === null) break;
    smallestMs = Math.min(smallestMs, nextMs - lastMs);
    if (smallestMs < enoughSeconds * 1_000) break;
    lastMs = nextMs;
  }
  return smallestMs / 1_000;
}

function checkBody(
  { body = null, bodyBase64 = null }: NonNullable<QuotaSubject["request"]>,
  bytesMax: number,
): FieldProblem[] {
  const field = bodyBase64 === null ? "request.body" : "request.bodyBase64";
  const bytes =
    bodyBase64 === null ? new TextEncoder().encode(body ?? "").length : bytesOfBase64(bodyBase64);
  if (bytes <= bytesMax) return [];
  const message = `has ${bytes} bytes; this tenant's bodies have at most ${bytesMax} (quota bodyBytesMax)`;
  return [{ field, message }];
}

/** Of RFC 4648 with padding, as it was checked when it came in. */
function bytesOfBase64(text: string): number {
  const padding = /={0,2}$/.exec(text)?.[0].length ?? 0;
  return (text.length / 4) * 3 - padding;
}
