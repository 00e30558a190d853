/** What a Lambda function opens once, when its module is loaded, and keeps for all of its invocations. */
import { mysqlOf } from "#adapters/deployment/open-account.ts";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { openLogger } from "#adapters/system/logger.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { retentionOf } from "#adapters/system/retention-of.ts";
import type { Retention } from "#core/domain/job.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { ControlStore } from "#core/ports/control-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Random } from "#core/ports/random.ts";
import type { Shards } from "#core/ports/shards.ts";

export interface ApiEnv {
  readonly MYSQL_URL: string;
  readonly MYSQL_SECRET_ARN: string;
  readonly DATABASE_PREFIX: string;
  readonly LOG_LEVEL: Parameters<typeof openLogger>[0]["level"];
  readonly ARCHIVE_SUCCEEDED_AFTER_SECONDS: number;
  readonly ARCHIVE_ENDED_AFTER_SECONDS: number;
}

export interface Connected {
  readonly control: ControlStore;
  readonly shards: Shards;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly retention: Retention;
}

/** Opens pools, which connect when they are first used: a database that is away fails requests, not the start. */
export async function connect(service: string, env: ApiEnv): Promise<Connected> {
  const logger = openLogger({ service, level: env.LOG_LEVEL });
  const mysql = await mysqlOf(env, logger);
  return {
    control: openControlStore(mysql),
    shards: openShards(mysql),
    clock: systemClock,
    random: systemRandom,
    logger,
    retention: retentionOf(env),
  };
}
