/**
 * Entry point of the reconciler: a Lambda function that EventBridge invokes every minute. A run looks at the leases every two
 * seconds for a little more than a minute, so that runs overlap and a dead executor is noticed within seconds at any time.
 */
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { openLogger } from "#adapters/system/logger.ts";
import { readEnv } from "#adapters/system/read-env.ts";
import { RECONCILE_RUN_MS } from "#core/domain/limits.ts";
import { runPasses } from "#core/services/reconciler/run-passes.ts";
import { endOf, type Invocation, onEachShard } from "../_shared/on-each-shard.ts";
import { openAccount } from "../_shared/open-account.ts";
import { processEnv } from "../_shared/process-env.ts";
import { reconcilerEnv } from "./env.ts";

/** A pass that has begun ends in this time. */
const PASS_LEFT_MS = 10_000;

const env = readEnv(reconcilerEnv, processEnv(), { ownPrefix: "ARCHIVE_" });
const clock = systemClock;
const logger = openLogger({ service: "reconciler", level: env.LOG_LEVEL });
const shards = openShards({
  mysqlUrl: env.MYSQL_URL,
  account: await openAccount(env, logger),
  databasePrefix: env.DATABASE_PREFIX,
  logger,
});
const retention = {
  succeededMs: env.ARCHIVE_SUCCEEDED_AFTER_SECONDS * 1_000,
  endedMs: env.ARCHIVE_ENDED_AFTER_SECONDS * 1_000,
};

export async function handler(_event: unknown, invocation: Invocation): Promise<void> {
  const endMs = Math.min(
    clock.monotonicMs() + RECONCILE_RUN_MS,
    endOf(invocation, clock, PASS_LEFT_MS),
  );
  await onEachShard(shards, (shard) => runPasses({ shard, clock, logger, retention }, endMs));
}
