/**
 * p9: how fast finished jobs go from MySQL to Cassandra, and whether any is lost when Cassandra is killed in the middle. The archiver
 * runs in this process, as it does in a Lambda; both databases are separate processes on the same machine.
 */
import { createHash, randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { openHistory } from "#adapters/cassandra/history-store.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { assert } from "#core/domain/assert.ts";
import { jobIdFromBytes, type TenantId } from "#core/domain/ids.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import { type ArchiverDeps, archiveJobs } from "#core/services/archiver/archive-jobs.ts";
import { type CassandraServer, startCassandra } from "#local/cassandra-server.ts";
import { pickPort } from "#local/hold-directory.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { createBulkTasks } from "#test/support/bulk-tasks.ts";
import { median, rounded } from "./figures.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";

const TASKS = 200;
const ROWS = 20_000;
const ROUNDS = 3;
const ROWS_PER_SECOND_MIN = 3_000;
const ROUND_MS_MAX = 120_000;
const AWAY_ROWS = 10_000;
const AWAY_MS = 5_000;
const LOOKED_UP_AT_ONCE = 50;

export const scenario: Scenario = {
  question: `rows a second from MySQL to Cassandra, with ${ROWS.toLocaleString("en")} rows, and none lost when it is killed`,
  takes: [],
  run: runP9,
};

interface World {
  readonly databases: BenchDatabases;
  readonly cassandra: CassandraServer;
  readonly history: HistoryStore;
  readonly deps: ArchiverDeps;
  readonly context: ScenarioContext;
}

async function runP9(context: ScenarioContext): Promise<ScenarioOutcome> {
  await using open = new AsyncDisposableStack();
  const databases = open.use(await openBenchDatabases("p9", context));
  const dir = join(resolve(process.env.LOCAL_DIR || ".local"), "bench", "cassandra");
  const { say, signal } = context;
  const options = { dir, port: await pickPort(0), onProgress: say, signal };
  const cassandra = await startCassandra(options);
  open.defer(() => cassandra.stop());
  const { contactPoints } = cassandra;
  const keyspace = `bench_p9_${randomBytes(4).toString("hex")}`;
  await migrateCassandra({ contactPoints, keyspace });
  const shards = openShards(databases);
  open.defer(() => shards.close());
  const history = openHistory({ contactPoints, keyspace });
  open.defer(() => history.close());
  const [shard] = shards.all();
  assert(shard !== undefined, "there is a shard");
  const deps = {
    shard,
    history,
    clock: systemClock,
    random: systemRandom,
    logger: { info() {}, warn: say, error: say },
    sha256: (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex"),
  };
  const world = { databases, cassandra, history, deps, context };
  const schedule = { type: "every", seconds: 86_400, anchor: "1970-01-01T00:00:00.000Z" };
  const { run } = databases;
  const tasks = { run, count: TASKS, batch: 0, url: "http://127.0.0.1:9/", schedule, spreadMs: 1 };
  await createBulkTasks({ ...tasks, dueMs: Date.now() + 80_000_000 });
  const rates = await measureRates(world);
  if (cassandra.kind === "given") return judge(rates, null);
  // An acknowledged write now survives a kill: what is lost then was lost by us.
  const restart = () => startCassandra({ ...options, sync: "group" });
  await cassandra.stop();
  await restart();
  return judge(rates, await loseNone(world, restart));
}

/** Rows a second of each round but the first, which warms everything up. */
async function measureRates({ databases, deps, context }: World): Promise<number[]> {
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    await createFinished(databases, ROWS, round);
    const startMs = performance.now();
    const { moved, end } = await archiveJobs(deps, startMs + ROUND_MS_MAX);
    const rate = moved / ((performance.now() - startMs) / 1_000);
    assert(moved === ROWS && end === "drained", `a round moves ${ROWS} rows, not ${moved}`);
    context.say(`${round === 0 ? "warm-up" : `round ${round}`}: ${Math.round(rate)} rows/s`);
    if (round > 0) rates.push(rate);
  }
  return rates;
}

function createFinished({ run }: BenchDatabases, rows: number, round: number): Promise<void> {
  const perTask = rows / TASKS;
  const fromMs = Date.now() - 3_600_000 * (round + 1);
  return createBulkJobs({ run, status: "succeeded", perTask, fromMs, stepMs: 1_000, dueInMs: -1 });
}

/** Kills Cassandra while the archiver is at work, and tells how many jobs are in neither store when all is over. */
async function loseNone(world: World, restart: () => Promise<unknown>): Promise<number> {
  const { databases, cassandra, history, deps, context } = world;
  await createFinished(databases, AWAY_ROWS, ROUNDS + 1);
  const rows = await databases.run("SELECT id, tenant_id FROM jobs");
  const jobs = rows.map(({ id, tenant_id }) => ({
    id: jobIdFromBytes(id),
    tenantId: tenant_id as TenantId,
  }));
  const running = archiveJobs(deps, performance.now() + ROUND_MS_MAX);
  while ((await countRows(databases)) === AWAY_ROWS) await systemClock.sleep(20);
  await cassandra.kill();
  const { moved, end } = await running;
  context.say(`Cassandra killed: ${moved} rows had been moved, the run ended as ${end}`);
  await systemClock.sleep(AWAY_MS);
  const again = await archiveJobs(deps, performance.now() + ROUND_MS_MAX);
  assert(again.moved === 0, "nothing is deleted while Cassandra is away");
  await restart();
  await drain(world);
  let lost = 0;
  for (let from = 0; from < jobs.length; from += LOOKED_UP_AT_ONCE) {
    const group = jobs.slice(from, from + LOOKED_UP_AT_ONCE);
    const found = await Promise.all(group.map(({ id, tenantId }) => history.find(tenantId, id)));
    lost += found.filter((entry) => entry === null).length;
  }
  return lost;
}

async function countRows({ run }: BenchDatabases): Promise<number> {
  return Number((await run("SELECT COUNT(*) AS n FROM jobs"))[0]?.n);
}

/** Run after run, as EventBridge would have it, until nothing is left. */
async function drain({ deps, context }: World): Promise<void> {
  const endMs = performance.now() + ROUND_MS_MAX;
  for (;;) {
    const { end } = await archiveJobs(deps, endMs);
    if (end === "drained") return;
    context.signal.throwIfAborted();
    assert(performance.now() < endMs, "the backlog drains when Cassandra is back");
    await systemClock.sleep(500);
  }
}

function judge(rates: readonly number[], lost: number | null): ScenarioOutcome {
  const rate = median(rates);
  const pass = rate >= ROWS_PER_SECOND_MIN && (lost === null || lost === 0);
  return {
    pass,
    figures: {
      rows: ROWS,
      rowsPerSecond: rounded(rate, 0),
      rounds: rates.map((one) => rounded(one, 0)),
      lost,
    },
    table: [
      ["", "measured", "must be"],
      ["rows/s, median", String(Math.round(rate)), `≥ ${ROWS_PER_SECOND_MIN}`],
      ["rows/s, slowest", String(Math.round(Math.min(...rates))), ""],
      ["lost when Cassandra is killed", lost === null ? "not tried" : String(lost), "0"],
    ],
  };
}
