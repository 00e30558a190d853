/** Environment of the executor: pure data, read here and by infra. */
import { databaseEnv, retentionEnv, secretsEnv, workerEnv } from "#adapters/system/env-parts.ts";

export const executorEnv = {
  ...databaseEnv,
  ...secretsEnv,
  ...workerEnv,
  /** Calls under way at once for anyone; beside them one for every eight for critical jobs, and one for every two for tenants with few calls. */
  EXECUTOR_SLOTS: { kind: "integer", min: 1, max: 10_000, default: 64 },
  /** Ranges and ports that tenants' calls may reach besides public addresses: `127.0.0.0/8:*,10.1.2.3/32:8080`. */
  EGRESS_ALLOW: { kind: "text", default: "" },
  /** Ranges and host names that they may not reach although they are public: the deployment's own. */
  EGRESS_DENY: { kind: "text", default: "" },
  EGRESS_IPV6: { kind: "choice", choices: ["on", "off"], default: "off" },
  ...retentionEnv,
} as const;
