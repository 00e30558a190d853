/** MySQL for test files: the server that `npm test` has started for all of them; databases of each file's own. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { controlDatabase, SHARD_NAMES, shardDatabase } from "#adapters/mysql/database-names.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import type { Shard } from "#core/ports/shards.ts";
import { migrate } from "#migrations/migrate.ts";
import { openTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

/** Databases of one test file, migrated, under a prefix that no other file has. */
export interface TestDatabases {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
  /** Runs a statement on a connection of its own, outside the pools under test. */
  run(sql: string): Promise<RowDataPacket[]>;
  drop(): Promise<void>;
}

export function testMysqlUrl(): string {
  const url = process.env.MYSQL_URL;
  if (!url) throw new Error("MYSQL_URL names the server that these tests use: npm test sets it");
  return url;
}

export async function makeTestDatabases(): Promise<TestDatabases> {
  const mysqlUrl = testMysqlUrl();
  const databasePrefix = `t_${randomBytes(6).toString("hex")}_`;
  await migrate({ mysqlUrl, databasePrefix });
  const connection = await createConnection({
    uri: mysqlUrl,
    database: shardDatabase("0", databasePrefix),
    timezone: "Z",
  });
  // Nothing on this connection for longer than the server's wait_timeout: it says so before it is needed again.
  connection.on("error", () => {});
  await connection.query("SET SESSION wait_timeout = 600");
  return {
    mysqlUrl,
    databasePrefix,
    run: async (sql) => (await connection.query<RowDataPacket[]>(sql))[0],
    async drop() {
      for (const name of databaseNames(databasePrefix)) {
        await connection.query(`DROP DATABASE IF EXISTS ${name}`);
      }
      await connection.end();
    },
  };
}

export function databaseNames(prefix: string): string[] {
  return [controlDatabase(prefix), ...SHARD_NAMES.map((shard) => shardDatabase(shard, prefix))];
}

export interface MysqlProxy extends TcpProxy {
  /** The same account, reached through it. */
  readonly mysqlUrl: string;
}

/** A proxy in front of the server that `mysqlUrl` names. */
export async function openProxyOf(mysqlUrl: string): Promise<MysqlProxy> {
  const url = new URL(mysqlUrl);
  const targetPort = Number(url.port || 3306);
  const proxy = await openTcpProxy({ targetHost: url.hostname, targetPort });
  url.hostname = "127.0.0.1";
  url.port = String(proxy.port);
  return Object.assign(proxy, { mysqlUrl: url.href });
}

/** A shard on databases of the test file's own, behind a proxy that can lose answers. */
export interface ProxiedShard {
  readonly databases: TestDatabases;
  readonly proxy: TcpProxy;
  readonly shard: Shard;
  close(): Promise<void>;
}

export async function openProxiedShard(): Promise<ProxiedShard> {
  const databases = await makeTestDatabases();
  const { databasePrefix } = databases;
  const proxy = await openProxyOf(databases.mysqlUrl);
  const shards = openShards({ mysqlUrl: proxy.mysqlUrl, databasePrefix, poolSize: 4 });
  const [shard] = shards.all();
  assert(shard !== undefined, "there is one shard");
  const close = async () => {
    await shards.close();
    await proxy.close();
    await databases.drop();
  };
  return { databases, proxy, shard, close };
}
