/** Environment of the migrations: pure data, read here and by infra. */
import { databaseEnv } from "#adapters/system/env-parts.ts";
import { historyEnv } from "../_shared/history-env.ts";

export const migrateEnv = {
  ...databaseEnv,
  /** The account of MYSQL_SECRET_ARN may create databases. This is that of all others: made here, for reading and writing rows. */
  MYSQL_APP_SECRET_ARN: { kind: "text", default: "" },
  ...historyEnv,
  /** Empty where something else makes history's tables: a data stack that has them as resources. */
  CASSANDRA_CONTACT_POINTS: { kind: "text", default: "" },
} as const;
