import { openShards } from "#adapters/mysql/shards.ts";
import { Scheduler } from "#core/services/scheduler/scheduler.ts";
import { openAccount } from "../_shared/open-account.ts";
import { runLoop } from "../_shared/run-loop.ts";
import { retentionOf, runWorker } from "../_shared/run-worker.ts";
import { shardNamed } from "../_shared/shard-named.ts";
import { schedulerEnv } from "./env.ts";

await runWorker(
  "scheduler",
  schedulerEnv,
  async ({ env, clock, random, metrics, logger, stop }) => {
    const shards = openShards({
      mysqlUrl: env.MYSQL_URL,
      account: await openAccount(env, logger),
      databasePrefix: env.DATABASE_PREFIX,
      logger,
    });
    const { tasks } = shardNamed(shards, env.SHARD);
    const scheduler = new Scheduler({ tasks, metrics, clock, retention: retentionOf(env) });
    const loop = {
      name: "scheduler tick",
      step: () => scheduler.tickOnce(),
      backoffMs: { first: 200, max: 5_000 },
    };
    logger.info("started", { shard: env.SHARD });
    await runLoop({ clock, random, logger }, loop, stop);
    await shards.close();
    return 0;
  },
);
