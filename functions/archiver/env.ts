/** Environment of the archiver: pure data, read here and by infra. What it moves, and when, is written in the rows. */
import { databaseEnv } from "#adapters/system/env-parts.ts";
import { historyEnv } from "../_shared/history-env.ts";

export const archiverEnv = {
  ...databaseEnv,
  ...historyEnv,
} as const;
