/** Environment of the key authorizer: pure data, read here and by infra. */
export const keyAuthorizerEnv = {
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
