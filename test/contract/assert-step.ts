import assert from "node:assert/strict";
import type { Job } from "#core/domain/job.ts";
import type { JobEvent } from "#core/domain/job-state.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import { RETENTION } from "./builders.ts";

/** `row` is what `event` makes of `before` at some instant from `beforeMs` to `afterMs`. */
export function assertStep(
  before: Job,
  event: JobEvent,
  row: Job | undefined,
  beforeMs: number,
  afterMs: number,
): void {
  const at = (nowMs: number) => applyEvent(before, event, { nowMs, retention: RETENTION });
  const early = at(beforeMs);
  const late = at(afterMs);
  if (early.kind === "refused") {
    assert.deepEqual(row, before);
    return;
  }
  if (early.kind === "removed") {
    assert.equal(row, undefined);
    return;
  }
  assert(late.kind === "moved" && row !== undefined, `${before.status} ${event.kind}: row is gone`);
  const { dueAtMs, finishedAtMs, runAtMs } = row;
  assert.deepEqual(row, { ...early.job, dueAtMs, finishedAtMs, runAtMs });
  assertBetween(early.job.dueAtMs, dueAtMs, late.job.dueAtMs);
  assertBetween(early.job.runAtMs, runAtMs, late.job.runAtMs);
  if (early.job.finishedAtMs === null || finishedAtMs === null) {
    assert.equal(finishedAtMs, early.job.finishedAtMs);
  } else assertBetween(early.job.finishedAtMs, finishedAtMs, late.job.finishedAtMs ?? 0);
}

function assertBetween(low: number, value: number, high: number): void {
  assert(value >= low && value <= high, `${value} lies between ${low} and ${high}`);
}
