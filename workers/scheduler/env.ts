/** Environment of the scheduler: pure data, read here and by infra. */
import { databaseEnv, retentionEnv, workerEnv } from "#adapters/system/env-parts.ts";

export const schedulerEnv = {
  ...databaseEnv,
  ...workerEnv,
  ...retentionEnv,
} as const;
