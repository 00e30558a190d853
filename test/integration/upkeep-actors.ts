/** What the reconciler, the archiver and tenants do to jobs, over and over, beside everybody else: steps of the contention test. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { TenantId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import type { Task } from "#core/domain/task.ts";
import type { Shard } from "#core/ports/shards.ts";
import { buildTask, makeWorker } from "#test/contract/builders.ts";
import { takeFromLines } from "./limit-actors.ts";

const ALL_JOBS = { statuses: null, fromMs: null, toMs: null };
const ALL_LETTERS = { taskId: null, fromMs: null, toMs: null };

/** An executor that claims and dies; two reconcilers find what it held, and rescue it at the same time. */
export async function dieAndRescue(
  shard: Shard,
  queues: readonly number[],
  retention: Retention,
): Promise<number> {
  const { jobs, workers } = shard;
  const worker = makeWorker();
  await workers.register(worker, 60_000);
  const branches = queues.map((queue) => ({ queue, limit: 20, head: null }));
  const result = await jobs.claimDue({ workerId: worker, branches, aheadMs: 1_000, limit: 60 });
  assert.ok(result.kind !== "fenced");
  // On a machine that is busy a COMMIT may outlast the claim's deadline: then it is asked what came of it.
  const claim = result.kind === "unknown" ? await jobs.adopt(result.claim) : result;
  const fromLines = await takeFromLines(shard, worker);
  const held = await jobs.listHeldBy([worker], 1_000);
  assert.equal(held.length, claim.jobs.length + fromLines.length);
  await jobs.listPastBackstop(100);
  const done = await Promise.all([
    jobs.rescue(shuffled(held), retention),
    jobs.rescue(shuffled(held), retention),
  ]);
  await workers.remove(worker);
  const moved = done.reduce((sum, one) => sum + one.pending + one.dead + one.cancelled, 0);
  assert.ok(moved <= held.length, "each job is rescued once");
  return moved;
}

/** Deletes what may be archived, as one of several that read the same rows. */
export async function archive({ jobs, tasks }: Shard): Promise<number> {
  const found = await jobs.listArchivable(300, 4_000_000);
  const deleted = await jobs.deleteArchived(shuffled(found));
  await tasks.pruneUnread(100);
  await tasks.purgeEnded(10, 3_600_000);
  return deleted;
}

/** Retries dead jobs of a tenant, many or one, and cancels some of a task's. */
export async function retryAndCancel(
  { jobs }: Shard,
  task: Task,
  retention: Retention,
): Promise<{ retried: number; cancelled: number }> {
  const { tenantId } = task;
  const letters = await jobs.listDeadLetters(tenantId, ALL_LETTERS, null, 50);
  const [first, ...rest] = shuffled(letters.map(({ job }) => job));
  const group = rest.map(({ id }, n) => ({ id, delayMs: n }));
  const outcomes = await jobs.retryDead(tenantId, group);
  let retried = [...outcomes.values()].filter((outcome) => outcome === "moved").length;
  if (first !== undefined) {
    const one = await jobs.retryOne(tenantId, first.id, keyOf<Job>(randomBytes(8).toString("hex")));
    if (one.kind === "moved") retried++;
  }
  const recent = await jobs.listByTask(tenantId, task.id, ALL_JOBS, null, 20);
  let cancelled = 0;
  for (const { id } of shuffled(recent).slice(0, 2)) {
    const { kind } = await jobs.cancel(tenantId, id, retention);
    if (kind === "cancelled" || kind === "marked") cancelled++;
  }
  return { retried, cancelled };
}

/** Makes tasks of one tenant, whose names and keys others use at the same time, near to its quota, and deletes them again. */
export async function createAndDelete(
  { tasks }: Shard,
  tenantId: TenantId,
  retention: Retention,
): Promise<number> {
  const build = () => {
    const name = `task ${Math.floor(Math.random() * 20)}`;
    return buildTask(Date.now(), { task: { tenantId, name, nextRunAtMs: null } });
  };
  const quota = { tasksMax: 15 };
  const key = keyOf<unknown>(`key ${Math.floor(Math.random() * 1_000)}`);
  const single = build();
  await tasks.create(single, key, quota);
  const group = Array.from({ length: 5 }, build);
  const made = await tasks.createMany(group, { ...key, route: "POST /v1/many" }, quota);
  for (const { task } of [single, ...group]) {
    await tasks.edit<never>(
      tenantId,
      task.id,
      (locked) => ({
        kind: "write",
        task: { ...locked.task, status: "deleted" },
        newVersion: null,
        jobsEffect: { kind: "cancel", reason: "task deleted" },
        makeJobs: [],
      }),
      retention,
    );
  }
  return made.kind === "made" ? made.creations.filter(({ kind }) => kind === "created").length : 0;
}

function keyOf<Made>(key: string) {
  const bodyHash = "00".repeat(32);
  return { route: "POST /v1/x", key, bodyHash, expiresInMs: 500, answerOf: (_: Made) => "{}" };
}

export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
