/** Environment of the tasks API: pure data, read here and by infra. */
export const tasksApiEnv = {
  MYSQL_URL: { kind: "url", protocols: ["mysql:"] },
  LOG_LEVEL: {
    kind: "choice",
    choices: ["debug", "info", "warn", "error", "silent"],
    default: "info",
  },
  ARCHIVE_SUCCEEDED_AFTER_SECONDS: { kind: "integer", min: 1, max: 31_536_000, default: 3_600 },
  ARCHIVE_ENDED_AFTER_SECONDS: { kind: "integer", min: 1, max: 31_536_000, default: 1_209_600 },
} as const;
