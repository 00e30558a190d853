/**
 * Schedulers, executors, reconcilers, archivers and the API writing to the same few tasks at once, half of them under limits that come
 * and go: nobody deadlocks, no claim is given twice, and whatever waits stands in one line.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { openShards } from "#adapters/mysql/shards.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { Task } from "#core/domain/task.ts";
import type { ClaimedJob, JobResult } from "#core/ports/job-store.ts";
import type { LogFields, Logger } from "#core/ports/logger.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import type { JobsEffect } from "#core/ports/task-store.ts";
import { materializeDueTasks } from "#core/services/scheduler/materialize-due-tasks.ts";
import { buildTask, HOUR_MS, makeTenant, makeWorker } from "#test/contract/builders.ts";
import { makeTestDatabases, type TestDatabases } from "./databases.ts";
import { changeLimit, limitEndpoint, takeFromLines } from "./limit-actors.ts";
import {
  archive,
  createAndDelete,
  dieAndRescue,
  retryAndCancel,
  shuffled,
} from "./upkeep-actors.ts";

const SECONDS = Number(process.env.CONTENTION_SECONDS ?? 10);
const TASKS = 60;
/** So short that the archiver has work; longer than a resume reaches back. */
const RETENTION = { succeededMs: 3_000, endedMs: 3_000 };
const QUEUES = [0, 1, 2, 16, 17, 18, 32, 33, 34, 48, 49, 50];

describe("everybody at once", () => {
  let databases: TestDatabases;
  const opened: Shards[] = [];
  const reruns: Promise<string>[] = [];
  const logger: Logger = {
    info() {},
    error() {},
    // What gave way has a code. Without one it is of the server's settings, which the test of those changes for all meanwhile.
    warn(message, fields) {
      if (fields?.code !== undefined) reruns.push(tellRerun(message, fields));
    },
  };

  before(async () => {
    databases = await makeTestDatabases();
  });
  after(async () => {
    for (const shards of opened) await shards.close();
    await databases.drop();
  });

  /** With what the server says of its last deadlock at once: the next one takes its place. */
  async function tellRerun(message: string, fields: LogFields = {}): Promise<string> {
    const [row] = await databases.run("SHOW ENGINE INNODB STATUS");
    const deadlock = /LATEST DETECTED DEADLOCK[\s\S]*?(?=\n-+\nTRANSACTIONS)/.exec(
      row?.Status,
    )?.[0];
    const own = deadlock?.includes(databases.databasePrefix)
      ? deadlock
      : "no deadlock of this test";
    return `${message} ${JSON.stringify(fields)}\n${own}`;
  }

  /** A shard as one process has it. */
  function openShard(): Shard {
    const { mysqlUrl, databasePrefix } = databases;
    const shards = openShards({ mysqlUrl, databasePrefix, poolSize: 4, logger });
    opened.push(shards);
    const [shard] = shards.all();
    assert.ok(shard);
    return shard;
  }

  test(`for ${SECONDS} s`, { timeout: (SECONDS + 30) * 1_000 }, async (t) => {
    const tasks = await createTasks(openShard());
    // Before their first jobs are made: a limit holds for jobs made from then on.
    const early = openShard();
    for (const task of tasks.filter((_, n) => n % 2 === 0)) await limitEndpoint(early, task);
    const endsAt = performance.now() + SECONDS * 1_000;
    const claims = new Set<string>();
    const counts = { made: 0, claimed: 0, recorded: 0, lostRaces: 0, edits: 0, runs: 0 };
    const upkeep = { rescued: 0, archived: 0, retried: 0, cancelled: 0, created: 0 };
    const limits = { taken: 0, changed: 0 };

    async function repeat(step: () => Promise<void>): Promise<void> {
      while (performance.now() < endsAt) await step();
    }
    function scheduler(): Promise<void> {
      const { tasks: store } = openShard();
      const metrics = { count() {}, observeLagMs() {} };
      return repeat(async () => {
        const done = await materializeDueTasks({ tasks: store, metrics, retention: RETENTION });
        counts.made += done?.made ?? 0;
        if (done === null) await new Promise((wake) => setImmediate(wake));
      });
    }
    async function executor(): Promise<void> {
      const shard = openShard();
      const worker = makeWorker();
      await shard.workers.register(worker, HOUR_MS);
      const queues = QUEUES.map((queue) => ({ queue, floorMs: null }));
      const writing = new Set<Promise<void>>();
      await repeat(async () => {
        const asked = { workerId: worker, queues, revocationsWithinMs: 1_000 };
        const { heads } = await shard.jobs.poll(asked);
        const branches = [...heads].map(([queue, head]) => ({ queue, limit: 40, head }));
        const request = { workerId: worker, branches, aheadMs: 1_000, limit: 200 };
        const result = await shard.jobs.claimDue(request);
        assert.ok(result.kind !== "fenced");
        // On a machine that is busy a COMMIT may outlast the claim's deadline: then it is asked what came of it.
        const claimed = result.kind === "unknown" ? await shard.jobs.adopt(result.claim) : result;
        const fromLines = await takeFromLines(shard, worker);
        const jobs = [...claimed.jobs, ...fromLines];
        counts.claimed += claimed.jobs.length;
        limits.taken += fromLines.length;
        for (const job of jobs) {
          const key = `${job.id} ${job.claimNo}`;
          assert.ok(!claims.has(key), `claimed twice: ${key}`);
          claims.add(key);
        }
        // Results are written while the next claim is under way, as the executor does.
        const write = record(shard, worker, jobs).finally(() => writing.delete(write));
        writing.add(write);
        await shard.workers.renew(worker, HOUR_MS);
        if (writing.size > 2) await Promise.all(writing);
      });
      await Promise.all(writing);
    }
    async function record(shard: Shard, worker: WorkerId, jobs: readonly ClaimedJob[]) {
      const back = jobs.filter((_, index) => index % 7 === 0);
      const ended = jobs.filter((_, index) => index % 7 !== 0);
      const results = ended.map((job, index) => resultOf(job, worker, index));
      const held = back.map((job) => ({ ...job, workerId: worker }));
      for (const done of await Promise.all([
        shard.jobs.recordResults(shuffled(results), RETENTION),
        shard.jobs.giveBack(shuffled(held), RETENTION),
      ])) {
        counts.recorded += done.written;
        counts.lostRaces += done.lostRaces;
      }
    }
    function api(): Promise<void> {
      const shard = openShard();
      return repeat(async () => {
        const task = tasks[Math.floor(Math.random() * tasks.length)];
        assert.ok(task);
        if (Math.random() < 0.5) {
          const run = randomRun(randomBytes(2));
          const done = await shard.tasks.runNow(task.tenantId, task.id, (current, nowMs) =>
            makeManualJob(current, "manual", nowMs, run, null),
          );
          assert.equal(done.kind, "made");
          counts.runs++;
        } else {
          await edit(shard, task);
          counts.edits++;
        }
      });
    }

    function reconciler(): Promise<void> {
      const shard = openShard();
      return repeat(async () => {
        upkeep.rescued += await dieAndRescue(shard, QUEUES, RETENTION);
      });
    }
    function archiver(): Promise<void> {
      const shard = openShard();
      return repeat(async () => {
        upkeep.archived += await archive(shard);
      });
    }
    function tenant(): Promise<void> {
      const shard = openShard();
      return repeat(async () => {
        const task = tasks[Math.floor(Math.random() * tasks.length)];
        assert.ok(task);
        const done = await retryAndCancel(shard, task, RETENTION);
        upkeep.retried += done.retried;
        upkeep.cancelled += done.cancelled;
      });
    }
    const tenantId = makeTenant();
    function creator(): Promise<void> {
      const shard = openShard();
      return repeat(async () => {
        upkeep.created += await createAndDelete(shard, tenantId, RETENTION);
      });
    }

    function limiter(): Promise<void> {
      const shard = openShard();
      return repeat(async () => {
        const task = tasks[2 * Math.floor((Math.random() * tasks.length) / 2)];
        assert.ok(task);
        await changeLimit(shard, task);
        limits.changed++;
        await new Promise((wake) => setTimeout(wake, 20));
      });
    }

    const ends = await Promise.allSettled([
      limiter(),
      ...[scheduler(), scheduler(), executor(), executor(), executor(), api(), api()],
      ...[reconciler(), archiver(), archiver(), tenant(), tenant(), creator(), creator()],
    ]);
    const all = { ...counts, ...upkeep, ...limits };
    const gaveWay = await Promise.all(reruns);
    t.diagnostic(`${JSON.stringify(all)}, reruns ${gaveWay.length}`);
    for (const told of gaveWay) t.diagnostic(told);
    const errors = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    assert.deepEqual(errors, [], "everybody came to the end");
    for (const [name, count] of Object.entries(all)) {
      if (name !== "lostRaces") assert.ok(count > SECONDS, `${name}: ${count}`);
    }
    assert.equal(counts.lostRaces, 0, "every result was of a job in its holder's hands");
    assert.deepEqual(gaveWay, [], "nobody had to give way");
    for (const [told, sql] of Object.entries(UNEVEN)) {
      assert.deepEqual(await databases.run(sql), [], told);
    }
  });

  async function createTasks(shard: Shard): Promise<Task[]> {
    const tasks: Task[] = [];
    for (let n = 0; n < TASKS; n++) {
      const priority = (["critical", "high", "normal", "low"] as const)[n % 4];
      const built = buildTask(Date.now(), {
        task: {
          ...(priority === undefined ? {} : { priority }),
          schedule: { type: "every", seconds: 1, anchor: "1970-01-01T00:00:00.000Z" },
          nextRunAtMs: Math.ceil(Date.now() / 1_000) * 1_000,
        },
      });
      assert.deepEqual(await shard.tasks.create(built), { kind: "created" });
      tasks.push(built.task);
    }
    return tasks;
  }
});

/** What must not be left behind by anybody. */
const UNEVEN = {
  "whoever waits stands in the line of its key":
    "SELECT HEX(jobs.id), jobs.limit_key, limited.limit_key AS line FROM jobs LEFT JOIN limited ON limited.job_id = jobs.id AND limited.part = jobs.part AND limited.limit_key = jobs.limit_key AND limited.queue = jobs.queue AND limited.due_at = jobs.due_at WHERE jobs.status = 'waiting' AND limited.job_id IS NULL",
  "whoever stands in a line waits":
    "SELECT HEX(limited.job_id), jobs.status FROM limited LEFT JOIN jobs ON jobs.part = limited.part AND jobs.id = limited.job_id AND jobs.status = 'waiting' WHERE jobs.id IS NULL",
  "nobody is pending who has a line":
    "SELECT HEX(id) FROM jobs WHERE status = 'pending' AND limit_key IS NOT NULL",
};

function resultOf(job: ClaimedJob, workerId: WorkerId, index: number): JobResult {
  const record = {
    attempt: job.attempt,
    startedAtMs: job.runAtMs,
    lagMs: 0,
    durationMs: 1,
    statusCode: 500,
    error: null,
    responseBody: "no",
  };
  const key = { id: job.id, workerId, claimNo: job.claimNo, limitKey: job.limitKey };
  if (index % 3 !== 0) return { ...key, record, kind: "succeed" };
  const { queue, runAtMs } = job;
  const fail = {
    ...key,
    record,
    kind: "fail" as const,
    retryAtMs: runAtMs + 500,
    retryQueue: queue,
  };
  return index % 2 === 0
    ? { ...fail, finalReason: "gone", maybeDead: true }
    : { ...fail, finalReason: null, maybeDead: true };
}

/** Pause, resume, edits of the schedule and no-ops, in turn by chance. */
async function edit(shard: Shard, { tenantId, id }: Task): Promise<void> {
  const result = await shard.tasks.edit<never>(
    tenantId,
    id,
    ({ task, nowMs, plannedFromMs }) => {
      const next = Math.ceil(nowMs / 1_000) * 1_000;
      const write = (changes: Partial<Task>, jobsEffect: JobsEffect) => ({
        kind: "write" as const,
        task: { ...task, version: task.version + 1, ...changes },
        newVersion: null,
        jobsEffect,
        makeJobs: [],
      });
      if (task.status === "paused") {
        return write(
          { status: "active", nextRunAtMs: next, madeUntilMs: nowMs },
          { kind: "resume" },
        );
      }
      if (Math.random() < 0.5) {
        return write({ status: "paused" }, { kind: "cancel", reason: "task paused" });
      }
      const from = plannedFromMs ?? task.nextRunAtMs;
      return write({ nextRunAtMs: from }, { kind: "remove-planned" });
    },
    RETENTION,
  );
  assert.equal(result.kind, "written");
}
