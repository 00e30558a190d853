/** Where a task begins: its first run after creation, or after an edit of its schedule. */
import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import { atInstantMs, nextOccurrence, ScheduleError } from "#core/domain/schedule.ts";

interface Timing {
  readonly schedule: Schedule;
  readonly startAtMs: number | null;
  readonly endAtMs: number | null;
}

export type FirstRun =
  | { readonly kind: "run"; readonly atMs: number }
  | { readonly kind: "none"; readonly problem: FieldProblem };

/** As `firstRunAfter`, but an `at` in the past runs at once: its scheduled time is the creation time. */
export function firstRunOfNewTask(timing: Timing, nowMs: number): FirstRun {
  const { schedule, startAtMs, endAtMs } = timing;
  if (schedule.type === "at" && atInstantMs(schedule) <= nowMs) {
    const inWindow =
      (startAtMs === null || startAtMs <= nowMs) && (endAtMs === null || nowMs < endAtMs);
    if (inWindow) return { kind: "run", atMs: nowMs };
  }
  return firstRunAfter(timing, nowMs);
}

/** The first run strictly after `afterMs`, or what to tell the caller when there is none. */
export function firstRunAfter(timing: Timing, afterMs: number): FirstRun {
  const { schedule, startAtMs, endAtMs } = timing;
  try {
    const atMs = nextOccurrence(schedule, { startAtMs, endAtMs }, afterMs);
    if (atMs !== null) return { kind: "run", atMs };
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return none("schedule", `cannot be computed: ${error.message}`);
  }
  if (startAtMs !== null || endAtMs !== null)
    return none("schedule", "has no occurrence between startAt and endAt that is still to come");
  if (schedule.type === "at")
    return none("schedule.at", "has passed: give a later time, or use /run to run the task now");
  return none("schedule", "has no occurrence that is still to come");
}

function none(field: string, message: string): FirstRun {
  return { kind: "none", problem: { field, message } };
}
