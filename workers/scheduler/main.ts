import { openShards } from "#adapters/mysql/shards.ts";
import { materializeDueTasks } from "#core/services/scheduler/materialize-due-tasks.ts";
import { openAccount } from "../_shared/open-account.ts";
import { runLoop } from "../_shared/run-loop.ts";
import { retentionOf, runWorker } from "../_shared/run-worker.ts";
import { shardNamed } from "../_shared/shard-named.ts";
import { schedulerEnv } from "./env.ts";

const TICK_MS = 1_000;

await runWorker(
  "scheduler",
  schedulerEnv,
  async ({ env, clock, random, metrics, logger, stop }) => {
    const shards = openShards({
      account: await openAccount(env, logger),
      mysqlUrl: env.MYSQL_URL,
      databasePrefix: env.DATABASE_PREFIX,
      logger,
    });
    const { tasks } = shardNamed(shards, env.SHARD);
    const retention = retentionOf(env);
    const loop = {
      name: "scheduler tick",
      // Until nothing is due: a tick that made something is followed by the next at once.
      step: async () =>
        (await materializeDueTasks({ tasks, metrics, retention })) === null ? TICK_MS : 0,
      backoffMs: { first: 200, max: 5_000 },
    };
    logger.info("started", { shard: env.SHARD });
    await runLoop({ clock, random, logger }, loop, stop);
    await shards.close();
    return 0;
  },
);
