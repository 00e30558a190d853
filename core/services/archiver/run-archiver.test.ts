import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { buildTask, plannedJob } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { listTaskJobs } from "../jobs/list-task-jobs.ts";
import { runArchiver } from "./run-archiver.ts";

const DAY_MS = 86_400_000;
/** The table's TTL. */
const IN_HISTORY_MS = 30 * DAY_MS;

/** ARCHIVE_ENDED_AFTER_SECONDS unless it is set, and longer than a task was kept for once. */
for (const days of [14, 60])
  test(`of jobs that stay in MySQL for ${days} days a deleted task lists all for as long as history has them`, () =>
    outlastsItsJobs(days * DAY_MS));

async function outlastsItsJobs(endedMs: number): Promise<void> {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const [shard] = shards.all();
  assert(shard !== undefined);
  const history = openMemoryHistory();
  const logger = { info() {}, warn() {}, error() {} };
  const random = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };
  const nowMs = clock.nowMs();
  const { task, version } = buildTask(nowMs);
  shards.tables.tasks.set(task.id, { ...task, status: "deleted", updatedAtMs: nowMs });
  shards.tables.addVersion(version);
  const job = plannedJob(task, nowMs, -1_000);
  const ended = { status: "dead", finishedAtMs: nowMs, dueAtMs: nowMs + endedMs } as const;
  shards.tables.jobs.set(job.id, { ...job, ...ended });
  const run = async () => {
    const sha256 = () => "0".repeat(64);
    const retention = { succeededMs: DAY_MS, endedMs };
    const deps = { shard, history, clock, random, retention, logger, sha256 };
    const { moved, purgedTasks } = await runArchiver(deps, Number.POSITIVE_INFINITY);
    return { moved, purgedTasks };
  };
  const listed = async () => {
    const filter = { statuses: null, fromMs: null, toMs: null };
    const deps = { shards, history, clock, logger };
    const { tenantId, id: taskId } = task;
    const page = await listTaskJobs(deps, { tenantId, taskId, filter, before: null, limit: 10 });
    return page?.items.length;
  };

  await clock.advance(endedMs);
  assert.deepEqual([await run(), await listed()], [{ moved: 1, purgedTasks: 0 }, 1]);
  await clock.advance(IN_HISTORY_MS);
  assert.deepEqual([await run(), await listed()], [{ moved: 0, purgedTasks: 0 }, 1]);
  await clock.advance(2 * DAY_MS);
  assert.deepEqual([await run(), await listed()], [{ moved: 0, purgedTasks: 1 }, undefined]);
}
