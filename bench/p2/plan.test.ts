import assert from "node:assert/strict";
import { test } from "node:test";
import { usual } from "../usual-options.ts";
import { perTaskOf, planP2 } from "./plan.ts";

test("the drain has 30,000 jobs after 20,000 calls of each process, beside raw", () => {
  assert.deepEqual(planP2(usual), {
    tasksCount: 1_000,
    perTask: { warmUps: 20, jobs: 30 },
    jobsGrow: false,
    warmUps: 20_000,
    jobs: 30_000,
    counts: [1, 2, 3],
    withRaw: true,
  });
  assert.equal(planP2({ ...usual, cold: true }).warmUps, 1_000);
  assert.deepEqual(planP2({ ...usual, executors: 2 }).counts, [2]);
});

test("every origin over TLS is called as often as the others, before and measured", () => {
  const { tasksCount, jobs, warmUps } = planP2({ ...usual, tls: 5_000 });
  assert.deepEqual([tasksCount, jobs, warmUps], [5_000, 30_000, 20_000]);
  assert.equal(planP2({ ...usual, tls: 5_000, cold: true }).warmUps, 5_000);
});

test("where endpoints take their time, one executor's slots are busy for sixteen seconds", () => {
  const at50 = planP2({ ...usual, delayMs: 50 });
  assert.equal(at50.withRaw, false);
  assert.equal(at50.jobs, 21_000);
  assert.equal(at50.warmUps, 11_000);
  assert.deepEqual(perTaskOf(at50, 3), { warmUps: 11, jobs: 3 * 21 });
  assert.equal(planP2({ ...usual, delayMs: 1 }).jobs, 30_000);
  assert.equal(planP2({ ...usual, delayMs: 5_000 }).jobs, 205);
});

test("from due tasks, each has one job, and one executor drains", () => {
  const { tasksCount, jobs, warmUps, counts } = planP2({ ...usual, materialise: true });
  assert.deepEqual([tasksCount, jobs, warmUps, counts], [30_000, 30_000, 20_000, [1]]);
  const quick = planP2({ ...usual, materialise: true, quick: true });
  assert.deepEqual([quick.tasksCount, quick.warmUps], [500, 200]);
});
