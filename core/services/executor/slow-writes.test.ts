/** A database that writes a part of what it could be asked for before the deadline: the executor asks for less, and all is done. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId } from "#core/domain/ids.ts";
import { CLAIM_DEADLINE_MS } from "#core/domain/limits.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import { type Priority, priorityOfQueue, queueOf } from "#core/domain/queue.ts";
import {
  addJob,
  addTask,
  endWorld,
  jobOf,
  openWorld,
  RETENTION,
} from "#test/support/executor-world.ts";
import * as limited from "#test/support/limited-world.ts";

const late = () => new StoreUnavailable("did not end in time");

for (const endsRows of [3, 60])
  test(`claims of which the database ends those of ${endsRows} jobs: all are called; once it is quick, claims grow again`, async () => {
    const world = openWorld({ slots: 300 });
    const { clock, tables, shard, sent } = world;
    const { jobs } = shard;
    const { claimDue } = jobs;
    let isSlow = true;
    const limits: number[] = [];
    jobs.claimDue = async (request) => {
      limits.push(request.limit);
      if (isSlow && request.limit > endsRows) {
        await clock.sleep(CLAIM_DEADLINE_MS);
        throw late();
      }
      return claimDue.call(jobs, request);
    };
    await clock.advance(1_000);
    const count = endsRows * 10;
    for (let n = 0; n < count; n++) addJob(tables, 0);
    await clock.advance(40_000);
    assert.equal(sent.length, count);
    isSlow = false;
    for (let n = 0; n < 1_000; n++) addJob(tables, 0);
    limits.length = 0;
    await clock.advance(5_000);
    assert.equal(sent.length, count + 1_000);
    assert.ok(Math.max(...limits) > 2 * endsRows, limits.join());
    await endWorld(world);
  });

for (const [endsRows, lanes] of [
  [100, 1],
  [50, 16],
  [3, 1],
] as const)
  test(`of a database that ends claims of ${endsRows} jobs in time each priority has its share, under high without end (lanes: ${lanes})`, async () => {
    const world = openWorld({ slots: 64 });
    const { clock, tables, shard } = world;
    const { jobs } = shard;
    const { claimDue } = jobs;
    const claimed = new Map<string, number>();
    jobs.claimDue = async (request) => {
      if (request.limit > endsRows) {
        await clock.sleep(CLAIM_DEADLINE_MS);
        throw late();
      }
      const claim = await claimDue.call(jobs, request);
      if (claim.kind !== "claimed") return claim;
      await clock.sleep((CLAIM_DEADLINE_MS / endsRows) * claim.jobs.length);
      for (const { queue } of claim.jobs) {
        const priority = priorityOfQueue(queue);
        claimed.set(priority, (claimed.get(priority) ?? 0) + 1);
      }
      return claim;
    };
    let made = 0;
    const add = (priority: Priority, count: number) => {
      const { task } = addTask(tables, { priority });
      for (let n = 0; n < count; n++) {
        const job = makeScheduledJob(task, "schedule", tables.nowMs() - ++made, tables.nowMs());
        const lane = priority === "high" ? n % lanes : 0;
        tables.insertJobs([{ ...job, queue: queueOf(priority) + lane }]);
      }
    };
    await clock.advance(1_000);
    add("high", 2_000);
    add("normal", 500);
    add("low", 500);
    for (let second = 0; second < 30; second++) {
      // A little more than it can.
      add("high", 110);
      await clock.advance(1_000);
    }
    const share = (priority: Priority) =>
      (claimed.get(priority) ?? 0) / [...claimed.values()].reduce((sum, count) => sum + count, 0);
    assert.ok(share("low") > 0.05, `low had ${share("low")}`);
    assert.ok(share("normal") > 0.1, `normal had ${share("normal")}`);
    await endWorld(world);
  });

test("critical tasks of which the database makes a few in time: all are made and called", async () => {
  const world = openWorld({ slots: 400 });
  const { clock, tables, shard, sent } = world;
  const { jobs } = shard;
  const { takeCritical } = jobs;
  jobs.takeCritical = (request, plan) =>
    takeCritical.call(jobs, request, (due) => {
      const planned = plan(due);
      if (planned.jobs.length > 8) throw late();
      return planned;
    });
  await clock.advance(1_000);
  const atMs = tables.nowMs() + 1_500;
  const schedule = { type: "at", at: new Date(atMs).toISOString() } as const;
  for (let n = 0; n < 300; n++)
    addTask(tables, { schedule, nextRunAtMs: atMs, priority: "critical" });
  const other = addJob(tables, 0);
  await clock.advance(20_000);
  assert.equal(sent.length, 301);
  assert.equal(jobOf(tables, other).status, "succeeded");
  await endWorld(world);
});

for (const endsRows of [1, 20, 200])
  test(`takes and results of limits of which the database ends ${endsRows} rows in time: all are called, once`, async () => {
    const world = limited.openWorld({ slots: 400 });
    const { clock, limits, shard, endpoints } = world;
    const urls = Array.from({ length: 40 }, (_, n) => `https://w${n}.example.com`);
    for (const url of urls) await limits.put(limited.keyOf(url), { concurrency: 20 });
    await clock.advance(1_000);
    const { takeLimited } = limits;
    limits.takeLimited = async (request) => {
      if (
        request.lines.length + request.lines.reduce((sum, { jobsMax }) => sum + jobsMax, 0) >
        3 * endsRows
      )
        throw late();
      return takeLimited.call(limits, request);
    };
    const { jobs } = shard;
    const { recordResults } = jobs;
    jobs.recordResults = async (results, retention) => {
      if (results.length > endsRows) throw late();
      return recordResults.call(jobs, results, retention);
    };
    const count = Math.min(20, endsRows);
    for (const url of urls)
      for (let n = 0; n < count; n++) limited.addJob(world, url, limited.keyOf(url));
    await clock.advance(60_000);
    for (const url of urls) assert.equal(endpoints.starts.get(url)?.length, count);
    assert.equal(limited.jobsWhere(world, "succeeded"), 40 * count);
    await world.end();
  });

for (const failMs of [5, 3_000])
  for (const verb of ["recordResults", "giveBack"] as const)
    test(`a ${verb} that never succeeds and fails after ${failMs} ms keeps no result waiting, under calls without end`, async () => {
      const world = openWorld({ slots: 300 });
      const { clock, tables, shard } = world;
      const { jobs } = shard;
      const [recordResults, giveBack] = [jobs.recordResults, jobs.giveBack];
      await clock.advance(1_000);
      const ids: JobId[] = [];
      const add = (inMs: number) => ids.push(addJob(tables, inMs));
      const fail = async () => {
        await clock.sleep(failMs);
        throw late();
      };
      let never: JobId | null = null;
      let latestMs = 0;
      jobs.recordResults = async (results, retention) => {
        await clock.sleep(5);
        if (verb === "recordResults") never ??= results[0]?.id ?? null;
        if (results.some(({ id }) => id === never)) return fail();
        for (const { record } of results)
          latestMs = Math.max(latestMs, clock.nowMs() - record.startedAtMs);
        return recordResults.call(jobs, results, retention);
      };
      if (verb === "giveBack") {
        const unsent = addJob(tables, 1_150);
        await clock.advance(300);
        jobs.giveBack = async (group, retention) =>
          group.some(({ id }) => id === unsent) ? fail() : giveBack.call(jobs, group, retention);
        const { tenantId, taskId } = jobOf(tables, unsent);
        await shard.tasks.edit<never>(
          ...([tenantId, taskId] as const),
          ({ task }) => ({
            ...{ kind: "write", task: { ...task, status: "paused" }, newVersion: null },
            ...{ jobsEffect: { kind: "cancel", reason: "task paused" }, makeJobs: [] },
          }),
          RETENTION,
        );
      }
      for (let tenth = 0; tenth < 300; tenth++) {
        for (let n = 0; n < 10; n++) add(n);
        await clock.advance(100);
      }
      await clock.advance(2_000);
      const left = ids.filter((id) => jobOf(tables, id).status !== "succeeded");
      assert.deepEqual(left, never === null ? [] : [never]);
      const mostMs = verb === "giveBack" ? failMs + 500 : 7 * failMs + 2_000;
      assert.ok(latestMs < mostMs, `a result waited for ${latestMs} ms`);
      Object.assign(jobs, { recordResults, giveBack });
      await clock.advance(2 * failMs);
      await endWorld(world);
    });
