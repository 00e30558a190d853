/**
 * Schedulers, executors, reconcilers, archivers and the API writing to the same few tasks at once, half of them under limits that come
 * and go: nobody deadlocks, no claim is given twice, and whatever waits stands in one line.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openShards } from "#adapters/mysql/shards.ts";
import type { Task } from "#core/domain/task.ts";
import type { LogFields, Logger } from "#core/ports/logger.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import { buildTask, makeTenant } from "#test/contract/builders.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { changeLimit, limitEndpoint } from "./limit-actors.ts";
import { archive, createAndDelete, dieAndRescue, retryAndCancel } from "./upkeep-actors.ts";
import { ExecutorActor, ExecutorCounts, edit, runByHand, tick } from "./work-actors.ts";

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
    const limited = tasks.filter((_, n) => n % 2 === 0);
    // Before their first jobs are made: a limit holds for jobs made from then on.
    const early = openShard();
    for (const task of limited) await limitEndpoint(early, task);
    const endsAt = performance.now() + SECONDS * 1_000;
    const calls = new ExecutorCounts();
    const counts = { made: 0, edits: 0, runs: 0, changed: 0 };
    const upkeep = { rescued: 0, archived: 0, retried: 0, cancelled: 0, created: 0 };
    const tenantId = makeTenant();

    async function repeat(step: (shard: Shard) => Promise<void>, shard = openShard()) {
      while (performance.now() < endsAt) await step(shard);
    }
    async function executor(): Promise<void> {
      const shard = openShard();
      const actor = new ExecutorActor(shard, QUEUES, RETENTION, calls);
      await actor.begin();
      await repeat(() => actor.claimOnce(), shard);
      await actor.end();
    }
    const scheduler = async (shard: Shard) => {
      counts.made += await tick(shard, RETENTION);
    };
    const api = async (shard: Shard) => {
      if (Math.random() < 0.5) {
        await runByHand(shard, anyOf(tasks));
        counts.runs++;
      } else {
        await edit(shard, anyOf(tasks), RETENTION);
        counts.edits++;
      }
    };
    const reconciler = async (shard: Shard) => {
      upkeep.rescued += await dieAndRescue(shard, QUEUES, RETENTION);
    };
    const archiver = async (shard: Shard) => {
      upkeep.archived += await archive(shard);
    };
    const tenant = async (shard: Shard) => {
      const done = await retryAndCancel(shard, anyOf(tasks), RETENTION);
      upkeep.retried += done.retried;
      upkeep.cancelled += done.cancelled;
    };
    const creator = async (shard: Shard) => {
      upkeep.created += await createAndDelete(shard, tenantId, RETENTION);
    };
    const limiter = async (shard: Shard) => {
      await changeLimit(shard, anyOf(limited));
      counts.changed++;
      await new Promise((wake) => setTimeout(wake, 20));
    };

    const ends = await Promise.allSettled([
      ...[executor(), executor(), executor()],
      ...[limiter, scheduler, scheduler, api, api].map((step) => repeat(step)),
      ...[reconciler, archiver, archiver, tenant, tenant].map((step) => repeat(step)),
      ...[creator, creator].map((step) => repeat(step)),
    ]);
    const { lostRaces, claimed, taken, recorded } = calls;
    const all = { ...counts, ...upkeep, claimed, taken, recorded };
    const gaveWay = await Promise.all(reruns);
    t.diagnostic(`${JSON.stringify(all)}, reruns ${gaveWay.length}`);
    for (const told of gaveWay) t.diagnostic(told);
    const errors = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    assert.deepEqual(errors, [], "everybody came to the end");
    for (const [name, count] of Object.entries(all))
      assert.ok(count > SECONDS, `${name}: ${count}`);
    assert.equal(lostRaces, 0, "every result was of a job in its holder's hands");
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

function anyOf(tasks: readonly Task[]): Task {
  const task = tasks[Math.floor(Math.random() * tasks.length)];
  assert.ok(task);
  return task;
}
