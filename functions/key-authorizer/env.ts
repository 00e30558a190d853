/** Environment of the key authorizer: pure data, read here and by infra. */
import { databaseEnv } from "#adapters/system/env-parts.ts";

export const keyAuthorizerEnv = {
  ...databaseEnv,
} as const;
