/**
 * Environment of the archiver: pure data, read here and by infra. What it moves, and when, is written in the rows; a task is kept as long
 * as its jobs can be seen.
 */
import { databaseEnv, retentionEnv } from "#adapters/system/env-parts.ts";
import { historyEnv } from "../_shared/history-env.ts";

export const archiverEnv = {
  ...databaseEnv,
  ...retentionEnv,
  ...historyEnv,
} as const;

/** Of one invocation: it goes on until nothing is left or its time is nearly out. */
export const archiverTimeoutSeconds = 120;
