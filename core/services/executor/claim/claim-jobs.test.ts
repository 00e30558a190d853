/** When executors poll: at their places in the common period, and in time for a pause to be heard of. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId, WorkerId } from "#core/domain/ids.ts";
import { makeWorkerId } from "#core/domain/ids.ts";
import { POLL_PERIOD_MS, POLL_PERIOD_MS_MAX } from "#core/domain/limits.ts";
import { addExecutor, addJob, endWorld, openWorld } from "#test/support/executor-world.ts";

interface Times {
  /** When its polls were sent, and when its last statements were answered before that. */
  readonly polls: number[];
  readonly pauses: number[];
}

/** A world of so many executors, in which there is always something to claim, and each claim and its requests take so long. */
async function watchPolls(
  executors: number,
  slow: { readonly claimMs: number; readonly requestsMs: number },
  forMs: number,
): Promise<Times[]> {
  const endpoint = () => ({ status: 200, afterMs: 100 });
  const world = openWorld({ slots: 1, endpoint });
  const { clock, tables, shard } = world;
  for (let n = 1; n < executors; n++) addExecutor(world, { slots: 1, endpoint, seed: 100 + n });
  await clock.advance(5_000);
  const seen = new Map<WorkerId, Times>();
  const endedMs = new Map<WorkerId, number>();
  const { jobs, tasks } = shard;
  const { poll, claimDue } = jobs;
  const { loadCallParts } = tasks;
  let last: WorkerId | null = null;
  jobs.poll = async (request) => {
    const { workerId } = request;
    const times = seen.get(workerId) ?? { polls: [], pauses: [] };
    seen.set(workerId, times);
    const nowMs = clock.monotonicMs();
    times.polls.push(nowMs);
    times.pauses.push(nowMs - (endedMs.get(workerId) ?? Number.NEGATIVE_INFINITY));
    return poll.call(jobs, request);
  };
  jobs.claimDue = async (request) => {
    await clock.sleep(slow.claimMs);
    last = request.workerId;
    return claimDue.call(jobs, request);
  };
  tasks.loadCallParts = async (request) => {
    const workerId = last;
    await clock.sleep(slow.requestsMs);
    if (workerId !== null) endedMs.set(workerId, clock.monotonicMs());
    return loadCallParts.call(tasks, request);
  };
  for (let passedMs = 0; passedMs < forMs; passedMs += 1_000) {
    for (let n = 0; n < 4 * executors; n++)
      addJob(tables, 500 + n * 20, { tenantId: `t${n}-${passedMs}` as TenantId });
    await clock.advance(1_000);
  }
  await endWorld(world);
  return [...seen.values()].map(({ polls, pauses }) => ({
    polls: polls.filter((atMs) => atMs < 5_000 + forMs),
    pauses,
  }));
}

const gapsOf = ({ polls }: Times) => polls.slice(1).map((atMs, n) => atMs - (polls[n] ?? 0));

test("what a claim takes is a part of the wait for the next poll: no more than its period and a tenth are between two", async () => {
  for (const slow of [
    { claimMs: 900, requestsMs: 400 },
    { claimMs: 1_500, requestsMs: 600 },
  ]) {
    const watched = await watchPolls(10, slow, 6_000);
    assert.equal(watched.length, 10);
    const gaps = watched.flatMap(gapsOf);
    const workMs = slow.claimMs + slow.requestsMs;
    const mostMs = 1.1 * POLL_PERIOD_MS_MAX + Math.max(0, workMs - POLL_PERIOD_MS_MAX);
    assert.ok(Math.max(...gaps) <= mostMs + 1, `${Math.max(...gaps)} ms at ${workMs} ms of work`);
    // Three periods, and the one that they begin in.
    for (const { polls } of watched) assert.ok(polls.length <= 4, `${polls.length} polls in 6 s`);
  }
});

test("an executor whose claims take longer than the period makes a pause after each", async () => {
  const [watched] = await watchPolls(1, { claimMs: 300, requestsMs: 100 }, 6_000);
  assert(watched !== undefined);
  const [, ...pauses] = watched.pauses.filter(Number.isFinite);
  assert.ok(pauses.length > 5);
  assert.ok(Math.min(...pauses) >= POLL_PERIOD_MS / 10);
});

test("among very many executors each still polls every two seconds, and its calls start", async () => {
  const world = openWorld();
  const { clock, shard, tables, sent } = world;
  for (let i = 0; i < 60; i++)
    await shard.workers.register(makeWorkerId(new Uint8Array(16).fill(100 + i)), 600_000);
  await clock.advance(20_000);
  for (let i = 0; i < 10; i++) {
    const id = addJob(tables, 1_000);
    const dueMs = clock.nowMs() + 1_000;
    await clock.advance(6_000);
    const call = sent.find(({ headers }) => headers["idempotency-key"] === id);
    assert.ok(call !== undefined && call.atMs - dueMs < 2_500, `${call && call.atMs - dueMs} ms`);
  }
  await endWorld(world);
});
