import { openSigner } from "#adapters/crypto/webhook-signer.ts";
import { mysqlOf } from "#adapters/deployment/open-account.ts";
import { openCaller } from "#adapters/http/caller.ts";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { retentionOf } from "#adapters/system/retention-of.ts";
import { Executor } from "#core/services/executor/executor.ts";
import { keepWeights } from "../_shared/keep-weights.ts";
import { openVaultOf } from "../_shared/open-vault.ts";
import { runWorker } from "../_shared/run-worker.ts";
import { shardNamed } from "../_shared/shard-named.ts";
import { executorEnv } from "./env.ts";
import { executorLook, readExecutor, runExecutor } from "./run-executor.ts";

await runWorker("executor", executorEnv, async (context) => {
  const { env, clock, random, metrics, logger, health, stop } = context;
  const policy = createEgressPolicy({
    allow: env.EGRESS_ALLOW,
    deny: env.EGRESS_DENY,
    ipv6: env.EGRESS_IPV6 === "on",
  });
  const mysql = await mysqlOf(env, logger);
  const shards = openShards({ ...mysql, onPoolWait: () => metrics.count("pool_waits", 1) });
  const shard = shardNamed(shards, env.SHARD);
  const vault = await openVaultOf(env, { shard, clock, logger });
  const caller = openCaller({ clock, logger, policy });
  const deps = { clock, random, logger, health };
  const { weightOf, ended } = keepWeights(mysql, deps, stop);
  const executor = new Executor({
    shard,
    caller,
    vault,
    signer: openSigner(),
    digest: systemDigest,
    clock,
    random,
    metrics,
    logger,
    retention: retentionOf(env),
    slots: env.EXECUTOR_SLOTS,
    weightOf,
  });
  health.look = () => executorLook(executor);
  metrics.onRead(() => readExecutor(executor, health, metrics));
  logger.info("started", { shard: env.SHARD });
  const [clean] = await Promise.all([runExecutor(executor, deps, stop), ended]);
  await caller.close();
  await shards.close();
  return clean ? 0 : 1;
});
