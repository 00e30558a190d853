import { openCaller } from "#adapters/http/caller.ts";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { Executor } from "#core/services/executor/executor.ts";
import { retentionOf, runWorker } from "../_shared/run-worker.ts";
import { shardNamed } from "../_shared/shard-named.ts";
import { executorEnv } from "./env.ts";
import { runExecutor } from "./run-executor.ts";

await runWorker("executor", executorEnv, async ({ env, clock, random, metrics, logger, stop }) => {
  const policy = createEgressPolicy({
    allow: env.EGRESS_ALLOW,
    deny: env.EGRESS_DENY,
    ipv6: env.EGRESS_IPV6 === "on",
  });
  const shards = openShards({
    mysqlUrl: env.MYSQL_URL,
    databasePrefix: env.DATABASE_PREFIX,
    logger,
  });
  const caller = openCaller({ clock, logger, policy });
  const executor = new Executor({
    shard: shardNamed(shards, env.SHARD),
    caller,
    clock,
    random,
    metrics,
    logger,
    retention: retentionOf(env),
    slots: env.EXECUTOR_SLOTS,
  });
  logger.info("started", { shard: env.SHARD });
  const clean = await runExecutor(executor, { clock, random, logger }, stop);
  await caller.close();
  await shards.close();
  return clean ? 0 : 1;
});
