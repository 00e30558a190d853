/** Environment of the migrations: pure data, read here and by infra. */
import { historyEnv } from "../_shared/history-env.ts";

export const migrateEnv = {
  MYSQL_URL: { kind: "url", protocols: ["mysql:"] },
  /** In AWS: the secret of the account that may create databases; MYSQL_URL then names the server only. */
  MYSQL_SECRET_ARN: { kind: "text", default: "" },
  /** The secret of the account that everything else uses: made here, and allowed to read and write rows only. */
  MYSQL_APP_SECRET_ARN: { kind: "text", default: "" },
  /** First part of every database's name, so that several systems can share a server. */
  DATABASE_PREFIX: { kind: "text", default: "scheduler_" },
  LOG_LEVEL: {
    kind: "choice",
    choices: ["debug", "info", "warn", "error", "silent"],
    default: "info",
  },
  ...historyEnv,
  /** Empty where something else makes history's tables: a data stack that has them as resources. */
  CASSANDRA_CONTACT_POINTS: { kind: "text", default: "" },
} as const;
