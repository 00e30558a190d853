/** Schedules as the API takes them, and their runs as text, for the tests of schedules. */
import assert from "node:assert/strict";
import type { FieldProblem } from "#core/domain/field-problem.ts";
import { nextOccurrence, parseSchedule, type Schedule } from "#core/domain/schedule.ts";

/** No window: from ever, for ever. */
export const ALWAYS = { startAtMs: null, endAtMs: null };

/** Parses what has to be taken. */
export function accepted(input: unknown): { schedule: Schedule; warnings: string[] } {
  const parsed = parseSchedule(input);
  assert.ok(parsed.kind === "ok", `refused: ${JSON.stringify([input, parsed])}`);
  return parsed;
}

/** Problems of what has to be refused. */
export function refused(input: unknown): FieldProblem[] {
  const parsed = parseSchedule(input);
  assert.ok(parsed.kind === "invalid", `accepted: ${JSON.stringify(input)}`);
  return parsed.problems;
}

export function cron(expression: string, timezone = "UTC"): Schedule {
  return accepted({ type: "cron", expression, timezone }).schedule;
}

/** The first run after an instant; both ISO 8601. */
export function next(schedule: Schedule, after: string): string | null {
  const runMs = nextOccurrence(schedule, ALWAYS, Date.parse(after));
  return runMs === null ? null : new Date(runMs).toISOString();
}
