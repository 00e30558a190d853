import { mysqlOf } from "#adapters/deployment/open-account.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { retentionOf } from "#adapters/system/retention-of.ts";
import { Scheduler } from "#core/services/scheduler/scheduler.ts";
import { keepWeights } from "../_shared/keep-weights.ts";
import { runLoop } from "../_shared/run-loop.ts";
import { runWorker } from "../_shared/run-worker.ts";
import { shardNamed } from "../_shared/shard-named.ts";
import { schedulerEnv } from "./env.ts";

const TICK = "scheduler tick";
const STUCK_AFTER_MS = 30_000;

await runWorker(
  "scheduler",
  schedulerEnv,
  async ({ env, clock, random, metrics, logger, health, stop }) => {
    const mysql = await mysqlOf(env, logger);
    const shards = openShards({ ...mysql, onPoolWait: () => metrics.count("pool_waits", 1) });
    const { tasks } = shardNamed(shards, env.SHARD);
    const deps = { clock, random, logger, health };
    const { weightOf, ended } = keepWeights(mysql, deps, stop);
    const retention = retentionOf(env);
    const scheduler = new Scheduler({ tasks, metrics, clock, retention, weightOf });
    const loop = {
      name: TICK,
      meanwhile:
        "no jobs are made here; those of the next 30 s are made already, executors make critical ones themselves, and nothing is skipped",
      stuckAfterMs: STUCK_AFTER_MS,
      step: async () => {
        const delayMs = await scheduler.tickOnce();
        metrics.count("ticks", 1);
        return delayMs;
      },
      backoffMs: { first: 200, max: 5_000 },
    };
    metrics.onRead(() =>
      metrics.gauge("materialize_age", Math.round(health.sinceGoodMs(TICK)) / 1_000),
    );
    logger.info("started", { shard: env.SHARD });
    await Promise.all([runLoop(deps, loop, stop), ended]);
    await shards.close();
    return 0;
  },
);
