/** What entry points declare alike in their env.ts, by what needs it: pure data. */

/** The database; and what is logged, which every entry point says. */
export const databaseEnv = {
  MYSQL_URL: { kind: "url", protocols: ["mysql:"] },
  /** In AWS: the secret of Secrets Manager that has the account; MYSQL_URL then names the server only. */
  MYSQL_SECRET_ARN: { kind: "text", default: "" },
  /** First part of every database's name, so that several systems can share a server. */
  DATABASE_PREFIX: { kind: "text", default: "scheduler_" },
  LOG_LEVEL: {
    kind: "choice",
    choices: ["debug", "info", "warn", "error", "silent"],
    default: "info",
  },
} as const;

/** What wraps the tenants' data keys: one of the two. */
export const secretsEnv = {
  /** A file on one machine … */
  SECRETS_KEY_FILE: { kind: "text", default: "" },
  /** … or a key of KMS. */
  SECRETS_KMS_KEY: { kind: "text", default: "" },
} as const;

/** When jobs that have ended go to history. */
export const retentionEnv = {
  ARCHIVE_SUCCEEDED_AFTER_SECONDS: { kind: "integer", min: 1, max: 31_536_000, default: 3_600 },
  ARCHIVE_ENDED_AFTER_SECONDS: { kind: "integer", min: 1, max: 31_536_000, default: 1_209_600 },
} as const;

/** Of processes that run on: workers. */
export const workerEnv = {
  /** Where `/health` and `/metrics` are served, on the loopback interface only; 0: nowhere. */
  METRICS_PORT: { kind: "integer", min: 0, max: 65_535, default: 0 },
  /** Which shard this process works on. */
  SHARD: { kind: "text", default: "0" },
} as const;
