/** Environment of the executor: pure data, read here and by infra. */
export const executorEnv = {
  MYSQL_URL: { kind: "url", protocols: ["mysql:"] },
  /** In AWS: the secret of Secrets Manager that has the account; MYSQL_URL then names the server only. */
  MYSQL_SECRET_ARN: { kind: "text", default: "" },
  /** What wraps the tenants' data keys: a file on one machine … */
  SECRETS_KEY_FILE: { kind: "text", default: "" },
  /** … or a key of KMS; one of the two. */
  SECRETS_KMS_KEY: { kind: "text", default: "" },
  /** First part of every database's name, so that several systems can share a server. */
  DATABASE_PREFIX: { kind: "text", default: "scheduler_" },
  LOG_LEVEL: {
    kind: "choice",
    choices: ["debug", "info", "warn", "error", "silent"],
    default: "info",
  },
  /** Where `/health` and `/metrics` are served, on the loopback interface only; 0: nowhere. */
  METRICS_PORT: { kind: "integer", min: 0, max: 65_535, default: 0 },
  /** Which shard this process works on. */
  SHARD: { kind: "text", default: "0" },
  /** Calls under way at once; critical jobs have one more for every eight. */
  EXECUTOR_SLOTS: { kind: "integer", min: 1, max: 10_000, default: 64 },
  /** Ranges and ports that tenants' calls may reach besides public addresses: `127.0.0.0/8:*,10.1.2.3/32:8080`. */
  EGRESS_ALLOW: { kind: "text", default: "" },
  /** Ranges and host names that they may not reach although they are public: the deployment's own. */
  EGRESS_DENY: { kind: "text", default: "" },
  EGRESS_IPV6: { kind: "choice", choices: ["on", "off"], default: "off" },
  ARCHIVE_SUCCEEDED_AFTER_SECONDS: { kind: "integer", min: 1, max: 31_536_000, default: 3_600 },
  ARCHIVE_ENDED_AFTER_SECONDS: { kind: "integer", min: 1, max: 31_536_000, default: 1_209_600 },
} as const;
