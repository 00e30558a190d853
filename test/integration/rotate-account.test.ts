/** The database's password is rotated while statements run: connections that are open go on, new ones come with the new one. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { openRotatingAccount } from "#adapters/mysql/account.ts";
import { openPool, type Pool } from "#adapters/mysql/pool.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { Secret } from "#core/domain/secret.ts";
import type { DatabaseAccount } from "#core/ports/database-account.ts";
import { databaseNames, makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";

const USER = `rotates_${randomBytes(4).toString("hex")}`;
let databases: TestDatabases;
let serverUrl: string;

before(async () => {
  databases = await makeTestDatabases();
  const { run, mysqlUrl, databasePrefix } = databases;
  await run(`CREATE USER '${USER}'@'%' IDENTIFIED BY 'first'`);
  for (const name of databaseNames(databasePrefix))
    await run(`GRANT ALL ON ${name}.* TO '${USER}'@'%'`);
  const url = new URL(mysqlUrl);
  url.username = "";
  url.password = "";
  serverUrl = url.href;
});
after(async () => {
  await databases.run(`DROP USER '${USER}'@'%'`);
  await databases.drop();
});

/** What Secrets Manager is in AWS. */
function openSource(password: string) {
  const source = {
    password,
    user: USER,
    fetched: 0,
    async fetch(): Promise<DatabaseAccount> {
      source.fetched++;
      await setTimeout(20);
      return { user: source.user, password: new Secret(source.password) };
    },
  };
  return source;
}

async function setPassword(password: string): Promise<void> {
  await databases.run(`ALTER USER '${USER}'@'%' IDENTIFIED BY '${password}'`);
}

async function asks(pool: Pool): Promise<void> {
  const connection = await pool.acquire();
  try {
    await connection.select("SELECT 1");
  } finally {
    // The next one has to log in again.
    connection.destroy();
  }
}

test("rotated under load, three times: no statement fails, and each rotation is asked for once", async () => {
  await setPassword("p0");
  const source = openSource("p0");
  const account = openRotatingAccount(() => source.fetch(), null);
  const pools = [1, 2].map(() =>
    openPool({
      mysqlUrl: serverUrl,
      database: `${databases.databasePrefix}0`,
      size: 4,
      logger: null,
      account,
    }),
  );
  const stop = new AbortController();
  let done = 0;
  const loops = pools.flatMap((pool) =>
    Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) {
        await asks(pool);
        done++;
      }
    }),
  );
  try {
    for (const password of ["p1", "p2", "p3"]) {
      // The secret is not fetched twice within a second.
      await setTimeout(1_100);
      const before = done;
      source.password = password;
      await setPassword(password);
      while (done < before + 40) await Promise.race([setTimeout(20), ...loops]);
    }
    stop.abort();
    await Promise.all(loops);
    assert.equal(source.fetched, 4, "the first one, and one for each rotation");
  } finally {
    stop.abort();
    await Promise.allSettled(loops);
    await Promise.all(pools.map((pool) => pool.close()));
  }
});

test("while the kept account is refused, statements are retryable failures; then they go on", async () => {
  await setPassword("known");
  const source = openSource("wrong");
  const account = openRotatingAccount(() => source.fetch(), null);
  const options = { mysqlUrl: serverUrl, databasePrefix: databases.databasePrefix, account };
  const shards = openShards(options);
  const [shard] = shards.all();
  assert(shard);
  try {
    const ask = () => shard.jobs.listRevocations(1);
    const asked = await Promise.allSettled(Array.from({ length: 20 }, ask));
    for (const one of asked)
      assert(one.status === "rejected" && one.reason instanceof StoreUnavailable);
    assert.ok(source.fetched <= 2, `asked ${source.fetched} times`);
    source.password = "known";
    // As above.
    await setTimeout(1_000);
    assert.deepEqual(await ask(), []);
  } finally {
    await shards.close();
  }
});
