/** Environment of the jobs API: pure data, read here and by infra. */
import { databaseEnv, retentionEnv } from "#adapters/system/env-parts.ts";
import { historyEnv } from "../_shared/history-env.ts";

export const jobsApiEnv = {
  ...databaseEnv,
  ...historyEnv,
  ...retentionEnv,
} as const;
