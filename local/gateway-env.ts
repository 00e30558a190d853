import { jobsApiEnv } from "#functions/jobs-api/env.ts";
import { tasksApiEnv } from "#functions/tasks-api/env.ts";

/** Of the gateway itself: requests of one API key. The defaults are those of an AWS account. */
export const throttleEnv = {
  API_RATE_PER_SECOND: { kind: "integer", min: 1, max: 1_000_000, default: 10_000 },
  API_BURST: { kind: "integer", min: 1, max: 1_000_000, default: 5_000 },
} as const;

/** Environment of `local/gateway.ts`: its own, and what the handlers declare. */
export const gatewayEnv = {
  ...tasksApiEnv,
  ...jobsApiEnv,
  ...throttleEnv,
  /** 0 takes a free port. */
  API_PORT: { kind: "integer", min: 0, max: 65_535, default: 8_787 },
} as const;
