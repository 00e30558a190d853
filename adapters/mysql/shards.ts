/** The shards: one, `0`, holds every partition. The table `shard_map` of the control database says the same and is not read. */
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { RotatingAccount } from "./account.ts";
import { backlogStore } from "./backlog-store.ts";
import { DATABASE_PREFIX, SHARD_NAMES, shardDatabase } from "./database-names.ts";
import { jobStore } from "./job-store.ts";
import { limitStore } from "./limit-store.ts";
import { secretStore } from "./secret-store.ts";
import { taskStore } from "./task-store.ts";
import { openDatabase } from "./transaction.ts";
import { workerStore } from "./worker-store.ts";

export interface ShardsOptions {
  /** `mysql://user:password@host:port`, without a database. */
  readonly mysqlUrl: string;
  /** Takes the place of the account in `mysqlUrl`. */
  readonly account?: RotatingAccount | null;
  readonly logger?: Logger;
  /** Connections per shard at most; heartbeats have two more of their own. */
  readonly poolSize?: number;
  /** First part of every database's name; tests choose their own. */
  readonly databasePrefix?: string;
  /** Called each time that a statement has to wait for a connection. */
  readonly onPoolWait?: () => void;
}

const POOL_SIZE = 10;
const HEARTBEAT_POOL_SIZE = 2;

/** Opens the stores. Connects when they are first used, so that a database that is away is an error of each call. */
export function openShards(options: ShardsOptions): Shards {
  const { mysqlUrl, account = null, logger = null, poolSize = POOL_SIZE } = options;
  const onWait = options.onPoolWait;
  if (!URL.canParse(mysqlUrl)) {
    throw new ConfigurationInvalid("MYSQL_URL has to look like mysql://user:password@host:3306");
  }
  const [name = "0"] = SHARD_NAMES;
  const database = shardDatabase(name, options.databasePrefix ?? DATABASE_PREFIX);
  const main = openDatabase({ mysqlUrl, database, poolSize, logger, account, onWait });
  const beats = openDatabase({
    mysqlUrl,
    database,
    poolSize: HEARTBEAT_POOL_SIZE,
    logger,
    account,
    onWait,
  });
  const shard = {
    name,
    tasks: taskStore(main),
    jobs: jobStore(main),
    workers: workerStore(beats),
    secrets: secretStore(main),
    limits: limitStore(main),
    backlog: backlogStore(main),
  };
  return {
    forTask: () => shard,
    forJob: () => shard,
    forTenant: () => shard,
    all: () => [shard],
    async close() {
      await Promise.all([main.close(), beats.close()]);
    },
  };
}
