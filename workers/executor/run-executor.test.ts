/** When results are written: alone at once, in larger groups while many end, and later while critical jobs press. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobId } from "#core/domain/ids.ts";
import type { Task } from "#core/domain/task.ts";
import { addJob, endWorld, jobOf, openWorld } from "#test/support/executor-world.ts";

const DUE_IN_MS = 500;
const CALL_MS = 2;

/** Runs jobs that are due at `dueMs` of the world's start; resolves to when results were written, ms after the first was due. */
async function writesOf(priority: Task["priority"], slots: number, dueMs: readonly number[]) {
  const world = openWorld({ slots, endpoint: () => ({ status: 200, afterMs: CALL_MS }) });
  const { clock, tables } = world;
  await clock.advance(100);
  const fromMs = clock.nowMs() + DUE_IN_MS;
  const jobs = dueMs.map((ms): JobId => addJob(tables, DUE_IN_MS + ms, { priority }));
  await clock.advance(DUE_IN_MS + Math.max(...dueMs) + 1_000);
  const written = jobs.map((id) => (jobOf(tables, id).finishedAtMs ?? Number.NaN) - fromMs);
  await endWorld(world);
  return [...new Set(written)].sort((a, b) => a - b);
}

test("the result of one call is written within 3 ms", async () => {
  assert.deepEqual(await writesOf("normal", 8, [0]), [CALL_MS + 3]);
});

test("while calls end all the time groups are of 20 ms, and when they are few again of 3", async () => {
  const steady = Array.from({ length: 400 }, (_, i) => Math.floor(i / 4));
  const writes = await writesOf("normal", 64, [...steady, 200, 300]);
  const [first, second, third] = writes;
  assert.deepEqual([first, second, third], [5, 25, 45]);
  assert.deepEqual(writes.slice(-1), [300 + CALL_MS + 3]);
});

test("while more critical jobs wait than there are slots their calls go first: results are written after 60 ms", async () => {
  const slots = 8;
  const pressing = await writesOf("critical", slots, new Array(30 * slots).fill(0));
  assert.equal(pressing[0], CALL_MS + 60);
  const few = await writesOf("critical", slots, new Array(slots).fill(0));
  assert.equal(few[0], CALL_MS + 3);
});
