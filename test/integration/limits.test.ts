/** Limits on a real server: round trips, what is locked and read however much waits, and slots that are never given twice. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { shardDatabase } from "#adapters/mysql/database-names.ts";
import { type Connection, openPool, type Pool } from "#adapters/mysql/pool.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { pollSql } from "#adapters/mysql/statements/poll.ts";
import { selectClaimableSql } from "#adapters/mysql/statements/select-claimable.ts";
import { listLinesSql, selectLimitedSql } from "#adapters/mysql/statements/select-limited.ts";
import type { LimitKey } from "#core/domain/call-limit.ts";
import { makeWorkerId, type WorkerId } from "#core/domain/ids.ts";
import type { LineRequest } from "#core/ports/limit-store.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import { failure, heldKey, makeWorker, success } from "#test/contract/builders.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { type CountingProxy, openCountingProxy } from "./counting-proxy.ts";
import { giveBack } from "./give-back.ts";
import { seedLimits } from "./seed-limits.ts";
import { seedRows } from "./seed-rows.ts";

const ROWS = 4_000;
const WAITING = 100_000;
const RETENTION = { succeededMs: 3_600_000, endedMs: 1_209_600_000 };
const WORKER = makeWorkerId(new Uint8Array(16).fill(3));
const RACE_SECONDS = 4;

function keyOf(tenant: number): LimitKey {
  return `tenant-${tenant}|https://api.example.com:443` as LimitKey;
}

function lineOf(tenant: number, changes: Partial<LineRequest> = {}): LineRequest {
  const queues = [16 * (tenant % 4)];
  return { key: keyOf(tenant), queues, slotsMax: 2, tenantSlotsMax: 2, jobsMax: 3, ...changes };
}

describe("limits", () => {
  let databases: TestDatabases;
  let pool: Pool;
  let proxy: CountingProxy;
  const opened: Shards[] = [];
  let shard: Shard;

  before(async () => {
    databases = await makeTestDatabases();
    await seedRows(databases, { tasks: ROWS, jobs: ROWS });
    await seedLimits(databases, WAITING);
    const { mysqlUrl, databasePrefix } = databases;
    pool = openPool({
      mysqlUrl,
      database: shardDatabase("0", databasePrefix),
      size: 2,
      logger: null,
    });
    proxy = await openCountingProxy(mysqlUrl);
    shard = openShard(proxy.url);
    await shard.workers.register(WORKER, 600_000);
  });
  after(async () => {
    for (const shards of opened) await shards.close();
    await proxy.close();
    await pool.close();
    await databases.drop();
  });
  beforeEach(() => proxy.take());

  function openShard(mysqlUrl = databases.mysqlUrl): Shard {
    const shards = openShards({ mysqlUrl, databasePrefix: databases.databasePrefix, poolSize: 2 });
    opened.push(shards);
    const [only] = shards.all();
    assert.ok(only);
    return only;
  }

  /** What a take has taken, and its statements. */
  async function take(lines: readonly LineRequest[]) {
    proxy.take();
    const result = await shard.limits.takeLimited({ workerId: WORKER, aheadMs: 200_000, lines });
    const statements = verbs(proxy.take());
    assert.ok(result.kind !== "fenced");
    // On a machine that is busy a COMMIT may outlast the take's deadline: then it is asked what came of it.
    const isKnown = result.kind === "claimed";
    assert.equal((isKnown ? result : result.claim).lines.length, lines.length);
    const { jobs } = isKnown ? result : await shard.jobs.adopt(result.claim);
    return { jobs, statements };
  }

  test("slots that another session has locked are waited for no longer than a poll may take", async () => {
    const key = keyOf(2_000);
    await shard.limits.put(key, { concurrency: 2 });
    const result = await shard.limits.takeLimited({
      ...{ workerId: WORKER, aheadMs: 200_000, lines: [lineOf(2_000)] },
    });
    assert.ok(result.kind === "claimed");
    const takenAtMs = result.claimedAtMs;
    const session = await pool.acquire();
    await session.write("BEGIN");
    const rows = await session.select(
      `SELECT slots FROM limit_slots WHERE limit_key = '${key}' FOR UPDATE`,
    );
    assert.equal(rows.length, 1);
    const startMs = performance.now();
    const kept = shard.limits.keepSlots(WORKER, [{ key, slots: 0, takenAtMs }]);
    await assert.rejects(kept, { retryable: true });
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < 2_000, `${tookMs} ms`);
    await session.write("ROLLBACK");
    session.release();
  });

  test("a take is nine statements for any number of lines, ten with a rate, eleven where a holder has died; one that finds no slot six, one that only lists one", async () => {
    for (const tenants of [[1], [2, 3, 4, 5, 6, 7, 8, 9]]) {
      const { jobs, statements } = await take(tenants.map((tenant) => lineOf(tenant)));
      assert.equal(jobs.length, 3 * tenants.length);
      const taken = ["BEGIN", "SELECT", "SELECT", "SELECT", "INSERT", "SELECT", "UPDATE", "DELETE"];
      assert.deepEqual(statements, [...taken, "COMMIT"]);
    }
    await shard.limits.put(keyOf(15), { perSecond: 1 });
    const dead = `'${keyOf(15)}', UNHEX(REPEAT('dd', 16)), 1, UTC_TIMESTAMP(3)`;
    await databases.run(
      `INSERT INTO limit_slots (limit_key, worker_id, slots, taken_at) VALUES (${dead})`,
    );
    for (const freed of [["DELETE"], []]) {
      const { jobs, statements } = await take([lineOf(15)]);
      assert.ok(jobs.length > 0);
      const hold = ["BEGIN", "SELECT", "SELECT", "SELECT", ...freed, "INSERT"];
      const rated = [...hold, "SELECT", "UPDATE", "DELETE", "UPDATE", "COMMIT"];
      assert.deepEqual(statements, rated);
    }
    const none = ["BEGIN", "SELECT", "SELECT", "SELECT", "DELETE", "COMMIT"];
    const nothing = await take([lineOf(1, { slotsMax: 0 })]);
    assert.deepEqual(nothing, { jobs: [], statements: none });
    proxy.take();
    await shard.limits.listLines(1_000, 100, keyOf(500));
    assert.deepEqual(verbs(proxy.take()), ["SELECT"]);
  });

  test("results of jobs from lines are four statements, five where some go back; giving back and rescuing likewise", async () => {
    const { jobs } = await take([lineOf(10), lineOf(11)]);
    const [one, two, three, four, five, six] = jobs;
    assert.ok(one && two && three && four && five && six);
    proxy.take();
    const record = async (...results: Parameters<Shard["jobs"]["recordResults"]>[0][]) => {
      const done = await shard.jobs.recordResults(results.flat(), RETENTION);
      assert.equal(done.lostRaces, 0);
      return verbs(proxy.take());
    };
    const known = { maybeDead: false };
    assert.deepEqual(await record([success(one, WORKER)]), ["BEGIN", "SELECT", "UPDATE", "COMMIT"]);
    const again = ["BEGIN", "SELECT", "UPDATE", "INSERT", "COMMIT"];
    const failed = { ...failure(two, WORKER, 0), ...known };
    assert.deepEqual(await record([success(three, WORKER), failed]), again);
    await shard.jobs.giveBack([heldKey(four, WORKER)], RETENTION);
    assert.deepEqual(verbs(proxy.take()), again);
    const lost = [five, six];
    assert.equal((await shard.jobs.rescue(lost, RETENTION)).pending, 2);
    const rescued = ["BEGIN", "SELECT", "INSERT", "UPDATE", "UPDATE", "UPDATE", "INSERT", "COMMIT"];
    assert.deepEqual(verbs(proxy.take()), rescued);
  });

  /** Rows of a table that another session cannot lock while this one has run `sql`. */
  async function lockedBy(sql: string, table: "jobs" | "limited" | "call_limits") {
    const [holder, other] = await Promise.all([pool.acquire(), pool.acquire()]);
    try {
      await holder.write("BEGIN");
      const rows = await holder.select(sql);
      await other.write("BEGIN");
      const key = table === "call_limits" ? "limit_key" : table === "jobs" ? "id" : "job_id";
      const free = await other.select(
        `SELECT ${key} FROM ${table} FORCE INDEX (PRIMARY) FOR UPDATE SKIP LOCKED`,
      );
      const [all] = await databases.run(`SELECT COUNT(*) AS rows_there FROM ${table}`);
      return { returned: rows.length, locked: Number(all?.rows_there) - free.length };
    } finally {
      await Promise.all([giveBack(holder), giveBack(other)]);
    }
  }

  test("a take locks the jobs that it returns, and their places in line; of the rest nothing", async () => {
    const branches = [20, 21, 22].map((tenant) => {
      return { key: keyOf(tenant), queue: 16 * (tenant % 4), limit: 7, floorMs: null };
    });
    const sql = selectLimitedSql(branches, Date.now() + 200_000);
    assert.deepEqual(await lockedBy(sql, "jobs"), { returned: 21, locked: 21 });
    assert.deepEqual(await lockedBy(sql, "limited"), { returned: 21, locked: 21 });
    assert.deepEqual(await lockedBy(sql, "call_limits"), { returned: 21, locked: 0 });
  });

  test("however much waits, a poll reads one entry of it, a claim none, a list of lines one for each", async () => {
    const queues = [0, 16, 32, 48].map((queue) => ({
      queue,
      floorMs: null,
      head: null,
      limit: 50,
    }));
    const connection = await pool.acquire();
    try {
      const poll = { workerId: WORKER, queues, revocationsWithinMs: 1_000 };
      const read = (sql: string) => entriesRead(connection, sql);
      assert.ok((await read(pollSql(poll))) < 100);
      const claim = { workerId: WORKER, branches: queues, aheadMs: 1_000, limit: 100 };
      assert.ok((await read(selectClaimableSql(claim))) < 3 * 100);
      // 1,000 lines, a look at the head of each, however many are listed and from wherever.
      for (const [max, after] of [
        [1_000, null],
        [1_000, keyOf(500)],
        [100, keyOf(999)],
      ] as const)
        assert.ok((await read(listLinesSql(1_000, max, after))) < 2 * 1_000);
      const all = await read("SELECT COUNT(*) FROM limited WHERE due_at > '2000-01-01'");
      assert.ok(all > WAITING * 0.9, `${all}: the counter counts`);
    } finally {
      connection.destroy();
    }
  });

  test(`executors that take, let go and die for ${RACE_SECONDS} s never hold more slots than there are`, async () => {
    const limit = 3;
    const key = keyOf(0);
    await shard.limits.put(key, { concurrency: limit });
    await databases.run(`DELETE FROM limit_slots WHERE limit_key = '${key}'`);
    const endsAt = performance.now() + RACE_SECONDS * 1_000;
    const held = new Map<WorkerId, number>();
    const claims = new Set<string>();
    let most = 0;
    const count = (worker: WorkerId, slots: number) => {
      held.set(worker, slots);
      const all = [...held.values()].reduce((sum, own) => sum + own, 0);
      assert.ok(all <= limit, `${all} slots of ${limit}`);
      most = Math.max(most, all);
    };
    async function executor(own: Shard): Promise<void> {
      let worker = makeWorker();
      await own.workers.register(worker, 60_000);
      while (performance.now() < endsAt) {
        const slotsMax = Math.floor(Math.random() * 6);
        // What it asks to lose it does not count on from here on.
        count(worker, Math.min(slotsMax, held.get(worker) ?? 0));
        const line = lineOf(0, { slotsMax });
        const asked = { workerId: worker, aheadMs: 0, lines: [line] };
        const result = await own.limits.takeLimited(asked);
        assert.ok(result.kind !== "fenced");
        const isKnown = result.kind === "claimed";
        const taken = isKnown ? result : result.claim;
        const slots = taken.lines[0]?.slots;
        // Of a COMMIT that has outlasted its deadline it counts on the fewer.
        if (slots !== undefined)
          count(worker, isKnown ? slots : Math.min(slots, held.get(worker) ?? 0));
        const { jobs } = isKnown ? result : await own.jobs.adopt(result.claim);
        for (const { id, claimNo } of jobs) {
          assert.ok(!claims.has(`${id} ${claimNo}`), `claimed twice: ${id}`);
          claims.add(`${id} ${claimNo}`);
        }
        const kept = Math.floor(Math.random() * 4);
        count(worker, Math.min(kept, held.get(worker) ?? 0));
        const { claimedAtMs: takenAtMs } = taken;
        await own.limits.keepSlots(worker, [{ key, slots: kept, takenAtMs }]);
        if (Math.random() < 0.2) {
          count(worker, 0);
          await own.workers.renew(worker, -1);
          worker = makeWorker();
          await own.workers.register(worker, 60_000);
        }
      }
    }
    await Promise.all(Array.from({ length: 4 }, () => executor(openShard())));
    assert.ok(claims.size > RACE_SECONDS, `${claims.size} claims`);
    assert.equal(most, limit, "all of them were in use");
  });
});

/** Index entries and rows that a statement reads, by the server's own count. */
async function entriesRead(connection: Connection, sql: string): Promise<number> {
  await connection.write("BEGIN");
  await connection.write("FLUSH STATUS");
  await connection.select(sql);
  const rows = await connection.select("SHOW SESSION STATUS LIKE 'Handler_read%'");
  await connection.write("ROLLBACK");
  return rows.reduce((sum, [, value]) => sum + Number(value), 0);
}

function verbs(statements: readonly string[]): string[] {
  return statements.map((sql) => /[A-Z]+/.exec(sql)?.[0] ?? sql);
}
