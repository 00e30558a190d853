import { mysqlOf } from "#adapters/deployment/open-account.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { openLogger, type ProcessLogger } from "#adapters/system/logger.ts";
import { type MetricsInMemory, openMetrics } from "#adapters/system/metrics.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { ApiEnv } from "./connect.ts";

export interface ConnectedTick {
  readonly logger: ProcessLogger;
  readonly metrics: MetricsInMemory;
  readonly shards: Shards;
}

/** What a function on a schedule opens once and keeps: pools, which connect when they are first used, and what it says of itself. */
export async function connectTick(
  service: "archiver" | "reconciler",
  env: Pick<ApiEnv, "MYSQL_URL" | "MYSQL_SECRET_ARN" | "DATABASE_PREFIX" | "LOG_LEVEL">,
): Promise<ConnectedTick> {
  const logger = openLogger({ service, level: env.LOG_LEVEL });
  const metrics = openMetrics(service);
  const mysql = await mysqlOf(env, logger);
  const shards = openShards({ ...mysql, onPoolWait: () => metrics.count("pool_waits", 1) });
  return { logger, metrics, shards };
}
