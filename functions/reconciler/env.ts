/** Environment of the reconciler: pure data, read here and by infra. */
import { databaseEnv, retentionEnv } from "#adapters/system/env-parts.ts";

export const reconcilerEnv = {
  ...databaseEnv,
  ...retentionEnv,
} as const;

/** Of one invocation: it looks for RECONCILE_RUN_MS, then ends the pass that it is in. */
export const reconcilerTimeoutSeconds = 90;
