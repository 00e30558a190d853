/** Environment of run-cloud.ts, besides what the stage `localstack` of infra reads: pure data. */
export const cloudEnv = {
  LOCALSTACK_PORT: { kind: "integer", min: 1, max: 65_535 },
  LOCALSTACK_DIR: { kind: "text" },
  /** A Python that has LocalStack; empty: in Docker. */
  LOCALSTACK_PYTHON: { kind: "text", default: "" },
} as const;
