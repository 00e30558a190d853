/** Environment of the reconciler: pure data, read here and by infra. */
import { databaseEnv, retentionEnv } from "#adapters/system/env-parts.ts";

export const reconcilerEnv = {
  ...databaseEnv,
  ...retentionEnv,
} as const;
