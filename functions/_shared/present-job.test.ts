import assert from "node:assert/strict";
import { test } from "node:test";
import { finishedJob, makeOwner } from "#test/contract/history-entries.ts";
import { presentJob } from "./present-job.ts";

const NOW_MS = Date.UTC(2026, 5, 1);

test("a job that is claimed ahead of its time is pending, its call not counted; one that waits for its time is as it is", () => {
  const owner = makeOwner(NOW_MS);
  const shown = (status: "pending" | "waiting" | "running", attempt: number, runAtMs: number) => {
    const job = finishedJob(owner, NOW_MS, { status, attempt, runAtMs });
    const { status: told, attempt: count } = presentJob({ job, request: null }, NOW_MS) as {
      status: string;
      attempt: number;
    };
    return [told, count];
  };
  assert.deepEqual(shown("running", 1, NOW_MS + 1), ["pending", 0]);
  assert.deepEqual(shown("running", 1, NOW_MS), ["running", 1]);
  assert.deepEqual(shown("pending", 0, NOW_MS + 1), ["pending", 0]);
  assert.deepEqual(shown("waiting", 2, NOW_MS + 1), ["waiting", 2]);
});
