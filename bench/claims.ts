/**
 * claims: what a claim of 100 jobs takes when everything is against it — three claimers at once, 100,000 entries that are deleted but
 * held by an old snapshot, 500,000 jobs made ahead, 100,000 waiting behind a limit, a tenant with 50,000 beyond its share — beside
 * one claimer in a shard that has only what is due. Both shards are on one server and claimed from in turn.
 */
import { randomBytes } from "node:crypto";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { assert } from "#core/domain/assert.ts";
import { makeWorkerId, type WorkerId } from "#core/domain/ids.ts";
import { CLAIM_AHEAD_MS } from "#core/domain/limits.ts";
import { type ClaimShare, queueOf, shareRoom } from "#core/domain/queue.ts";
import type { ClaimedJob, JobResult, Poll } from "#core/ports/job-store.ts";
import type { Shard } from "#core/ports/shards.ts";
import { QueueFloors } from "#core/services/executor/claim/queue-floors.ts";
import { migrate } from "#migrations/migrate.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { createBulkTasks } from "#test/support/bulk-tasks.ts";
import { median, quantile, rounded } from "./figures.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";

const CLAIMED = 100;
const ROUNDS = 60;
const CLAIMERS = 3;
const TASKS = 1_000;
const RATIO_MAX = 1.5;
const DAY_MS = 86_400_000;
const LEASE_MS = 3_600_000;
/** Of a priority, lane 3 and beyond are stripes: where a tenant stands that is far beyond its share. */
const STRIPE = 5;
const NORMAL = queueOf("normal");
const RECORDED = 500;
const RETENTION = { succeededMs: DAY_MS, endedMs: DAY_MS };

export const scenario: Scenario = {
  question: "what a claim takes among dead entries, jobs ahead, waiting jobs and a heavy tenant",
  takes: ["quick", "rounds"],
  run: runClaims,
};

interface Sizes {
  readonly ahead: number;
  readonly waiting: number;
  readonly dead: number;
  readonly heavy: number;
}

const SIZES: Sizes = { ahead: 500_000, waiting: 100_000, dead: 100_000, heavy: 50_000 };
const QUICK_SIZES: Sizes = { ahead: 2_000, waiting: 1_000, dead: 1_000, heavy: 2_000 };

interface Field extends AsyncDisposable {
  readonly shard: Shard;
  readonly run: BenchDatabases["run"];
}

async function runClaims(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, signal, options } = context;
  const sizes = options.quick ? QUICK_SIZES : SIZES;
  await using base = await openBenchDatabases("claims", context);
  await using clean = await openField(base, "clean");
  await using crowded = await openField(base, "crowded");
  say("filling the crowded shard");
  await using _snapshot = await crowd(base, crowded, sizes);
  const due = (options.rounds ?? (options.quick ? 3 : ROUNDS)) * CLAIMED * (CLAIMERS + 2);
  for (const { run } of [clean, crowded]) await makeDue(run, due);
  const one = [await Claimer.open(clean)];
  const three = await Promise.all(Array.from({ length: CLAIMERS }, () => Claimer.open(crowded)));
  const measured = { clean: [] as number[], crowded: [] as number[], alone: [] as number[] };
  const rounds = options.rounds ?? (options.quick ? 3 : ROUNDS);
  for (let round = -2; round < rounds; round++) {
    signal.throwIfAborted();
    const took = {
      clean: await claimAll(one),
      crowded: await claimAll(three),
      alone: await claimAll(three.slice(0, 1)),
    };
    if (round < 0) continue;
    measured.clean.push(...took.clean);
    measured.crowded.push(...took.crowded);
    measured.alone.push(...took.alone);
  }
  return judge(measured);
}

async function openField(base: BenchDatabases, name: string): Promise<Field> {
  const databasePrefix = `bench_claims_${name}_`;
  const { mysqlUrl } = base;
  const database = shardDatabase("0", databasePrefix);
  for (const one of [database, `${databasePrefix}control`])
    await base.run(`DROP DATABASE IF EXISTS ${one}`);
  await migrate({ mysqlUrl, databasePrefix });
  const connection = await createConnection({ uri: mysqlUrl, database, timezone: "Z" });
  const run = async (sql: string) => (await connection.query<RowDataPacket[]>(sql))[0];
  await run("SET SESSION wait_timeout = 3600");
  const dueMs = Date.now() + DAY_MS;
  const schedule = { type: "every", seconds: 86_400, anchor: new Date(dueMs).toISOString() };
  const url = "http://127.0.0.1:9/";
  const tasks = { run, count: TASKS, url, schedule, dueMs, spreadMs: DAY_MS, priority: 2 };
  await createBulkTasks({ ...tasks, batch: 0 });
  const shards = openShards({ mysqlUrl, databasePrefix });
  const [shard] = shards.all();
  assert(shard !== undefined, "there is a shard");
  return {
    shard,
    run,
    async [Symbol.asyncDispose]() {
      await shards.close();
      connection.destroy();
    },
  };
}

/** Fills a shard with what a claim must pass by; answers the snapshot that keeps the deleted entries. */
async function crowd(
  base: BenchDatabases,
  { run, shard }: Field,
  { ahead, waiting, dead, heavy }: Sizes,
): Promise<AsyncDisposable> {
  const pending = { run, status: "pending", stepMs: 1 } as const;
  const per = (count: number) => count / TASKS;
  const hoursAgo = (hours: number) => Date.now() - hours * 3_600_000;
  await createBulkJobs({ ...pending, perTask: per(ahead), fromMs: hoursAgo(-1), dueInMs: 300_000 });
  await createBulkJobs({ ...pending, perTask: per(waiting), fromMs: hoursAgo(1), dueInMs: 0 });
  await run(
    "UPDATE jobs SET status = 'waiting' WHERE status = 'pending' AND due_at <= UTC_TIMESTAMP(3)",
  );
  await createBulkJobs({ ...pending, perTask: per(heavy), fromMs: hoursAgo(2), dueInMs: 0 });
  await run(
    `UPDATE jobs SET queue = queue + ${STRIPE} WHERE status = 'pending' AND due_at <= UTC_TIMESTAMP(3)`,
  );
  const uri = new URL(base.mysqlUrl);
  const [name] = await run("SELECT DATABASE() AS name");
  const old = await createConnection({ uri: uri.href, database: String(name?.name) });
  await old.query("SET SESSION wait_timeout = 3600, transaction_isolation = 'REPEATABLE-READ'");
  await old.query("START TRANSACTION WITH CONSISTENT SNAPSHOT");
  await old.query("SELECT 1 FROM jobs LIMIT 1");
  // Claimed and ended: their entries in front of what is due stay while the snapshot may ask for them.
  await createBulkJobs({ ...pending, perTask: per(dead), fromMs: hoursAgo(3), dueInMs: -1 });
  const claimer = await Claimer.open({ run, shard });
  for (let left = dead; left > 0; left -= RECORDED) {
    const jobs = await claimer.claim([{ queue: NORMAL, limit: RECORDED }], RECORDED);
    await shard.jobs.recordResults(jobs.map(claimer.resultOf), RETENTION);
  }
  await run("ANALYZE TABLE jobs");
  return { [Symbol.asyncDispose]: async () => old.destroy() };
}

/** Jobs within their tenants' shares that are due now: what claims are for. */
function makeDue(run: BenchDatabases["run"], count: number): Promise<void> {
  const perTask = Math.ceil(count / TASKS);
  return createBulkJobs({
    run,
    status: "pending",
    perTask,
    fromMs: Date.now() - 60_000,
    stepMs: 1,
    dueInMs: 0,
  });
}

class Claimer {
  readonly #shard: Shard;
  readonly #workerId: WorkerId;
  readonly #floors = new QueueFloors();

  private constructor(shard: Shard, workerId: WorkerId) {
    this.#shard = shard;
    this.#workerId = workerId;
  }

  static async open({ shard }: Pick<Field, "shard" | "run">): Promise<Claimer> {
    const workerId = makeWorkerId(randomBytes(16));
    await shard.workers.register(workerId, LEASE_MS);
    return new Claimer(shard, workerId);
  }

  async claim(
    shares: readonly ClaimShare[],
    limit: number,
    heads: Poll["heads"] = new Map(),
  ): Promise<readonly ClaimedJob[]> {
    const branches = shares.map((share) => ({ ...share, head: heads.get(share.queue) ?? null }));
    const request = { workerId: this.#workerId, branches, aheadMs: CLAIM_AHEAD_MS, limit };
    const claim = await this.#shard.jobs.claimDue(request);
    assert(claim.kind === "claimed", "a worker that lives may claim");
    return claim.jobs;
  }

  /** Polls, then claims what shares the room, as an executor does; ms of the claim. */
  async measure(): Promise<number> {
    const queues = this.#floors.next();
    const asked = { workerId: this.#workerId, queues, revocationsWithinMs: 30_000 };
    const poll = await this.#shard.jobs.poll(asked);
    this.#floors.note(queues, poll);
    const shares = shareRoom([...poll.heads.keys()], { any: CLAIMED, critical: 0 });
    const startMs = performance.now();
    const jobs = await this.claim(shares, CLAIMED, poll.heads);
    const tookMs = performance.now() - startMs;
    assert(jobs.length === CLAIMED, `a claim takes ${CLAIMED} jobs, not ${jobs.length}`);
    return tookMs;
  }

  readonly resultOf = ({ id, claimNo, limitKey }: ClaimedJob): JobResult => {
    const record = {
      attempt: 1,
      startedAtMs: Date.now(),
      lagMs: 0,
      durationMs: 1,
      statusCode: 200,
      error: null,
      responseBody: null,
    };
    return { kind: "succeed", id, claimNo, limitKey, workerId: this.#workerId, record };
  };
}

/** Claims by all of them at once. */
function claimAll(claimers: readonly Claimer[]): Promise<number[]> {
  return Promise.all(claimers.map((claimer) => claimer.measure()));
}

function judge(
  measured: Readonly<Record<"clean" | "alone" | "crowded", number[]>>,
): ScenarioOutcome {
  const clean = median(measured.clean);
  const ratio = median(measured.crowded) / clean;
  const cells = (name: string, of: readonly number[]) => [
    name,
    `${median(of).toFixed(2)} ms`,
    `${quantile(of, 0.9).toFixed(2)} ms`,
    (median(of) / clean).toFixed(2),
  ];
  return {
    pass: ratio <= RATIO_MAX,
    figures: {
      jobs: CLAIMED,
      claims: measured.crowded.length,
      cleanMs: rounded(clean),
      crowdedAloneMs: rounded(median(measured.alone)),
      crowdedMs: rounded(median(measured.crowded)),
      ratio: rounded(ratio),
    },
    table: [
      [`a claim of ${CLAIMED}`, "p50", "p90", "÷ clean"],
      cells("clean shard, one claimer", measured.clean),
      cells("crowded shard, one claimer", measured.alone),
      cells(`crowded shard, ${CLAIMERS} at once`, measured.crowded),
    ],
  };
}
