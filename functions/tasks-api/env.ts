/** Environment of the tasks API: pure data, read here and by infra. */
import { databaseEnv, retentionEnv, secretsEnv } from "#adapters/system/env-parts.ts";
import { zoneDataEnv } from "../_shared/zone-data.ts";

export const tasksApiEnv = {
  ...databaseEnv,
  ...secretsEnv,
  ...retentionEnv,
  ...zoneDataEnv,
} as const;
