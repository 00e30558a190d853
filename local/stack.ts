import { join } from "node:path";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import { type EnvDeclaration, readEnv } from "#adapters/system/read-env.ts";
import { DRAIN_TOTAL_MS } from "#core/domain/limits.ts";
import { archiverEnv } from "#functions/archiver/env.ts";
import { reconcilerEnv } from "#functions/reconciler/env.ts";
import { executorEnv } from "#workers/executor/env.ts";
import { schedulerEnv } from "#workers/scheduler/env.ts";
import type { Databases } from "./databases.ts";
import { gatewayEnv } from "./gateway-env.ts";
import type { ChildSpec } from "./keep-child.ts";
import { localKeyFile } from "./secrets-key.ts";
import type { Settings } from "./settings.ts";

// The processes that a start brings up, and what each is told. Workers refuse what they do not know, so they get their own
// settings and what any program needs, never the whole environment.

const PASSED_ON = ["PATH", "HOME", "LANG", "TMPDIR", "TZ"];
/** A worker gives what is under way DRAIN_TOTAL_MS at most, then leaves by itself. */
const WORKER_STOP_MS = DRAIN_TOTAL_MS + 5_000;
const GATEWAY_STOP_MS = 15_000;
const TICK_STOP_MS = 5_000;
const ECHO_STOP_MS = 5_000;
const COMES_UP_MS = 60_000;
/** Workers before the endpoint that they may still be calling. */
const STAGE = { services: 0, endpoints: 1 };

export type Stack = {
  /** The first is the one that answers `apiUrl`. */
  children: ChildSpec[];
  apiUrl: string;
  /** How long the API may take until it is healthy. */
  comesUpInMs: number;
  echoUrl: string;
  logDir: string;
};

/**
 * What to start for these settings; pure. The URL of MySQL names server and account, no database. Throws ConfigurationInvalid for
 * a setting that a process would refuse, so that it is said before anything runs.
 */
export function planStack(
  settings: Settings,
  { mysqlUrl, contactPoints }: Databases,
  echoPort: number,
  env: NodeJS.ProcessEnv,
): Stack {
  const base = pick(env, PASSED_ON);
  const given = {
    ...env,
    MYSQL_URL: mysqlUrl,
    CASSANDRA_CONTACT_POINTS: contactPoints,
    EGRESS_ALLOW: env.EGRESS_ALLOW || "127.0.0.0/8:*",
    SECRETS_KEY_FILE: localKeyFile(settings.localDir, env),
  };
  createEgressPolicy({ allow: given.EGRESS_ALLOW, deny: env.EGRESS_DENY ?? "" });
  const own = (declaration: EnvDeclaration) => {
    const values = pick(given, Object.keys(declaration));
    readEnv(declaration, values);
    return { ...base, ...values };
  };
  const worker = (name: string, script: string, declaration: EnvDeclaration, stopMs: number) => ({
    name,
    script,
    env: own(declaration),
    stopMs,
    stage: STAGE.services,
    watched: true,
  });
  const gateway = {
    ...worker("gateway", "local/gateway.ts", gatewayEnv, GATEWAY_STOP_MS),
    watched: false,
  };
  gateway.env.API_PORT = String(settings.apiPort);
  const tick = (name: string, declaration: EnvDeclaration) => ({
    ...worker(name, "local/tick.ts", declaration, TICK_STOP_MS),
    args: [name],
  });
  const echo = { ...base, ECHO_PORT: String(echoPort) };
  return {
    apiUrl: apiUrlOf(settings),
    comesUpInMs: COMES_UP_MS,
    echoUrl: `http://127.0.0.1:${echoPort}`,
    logDir: join(settings.localDir, "log"),
    children: [
      gateway,
      ...named("scheduler", settings.schedulers).map((name) =>
        worker(name, "workers/scheduler/main.ts", schedulerEnv, WORKER_STOP_MS),
      ),
      ...named("executor", settings.executors).map((name) =>
        worker(name, "workers/executor/main.ts", executorEnv, WORKER_STOP_MS),
      ),
      tick("reconciler", reconcilerEnv),
      tick("archiver", archiverEnv),
      {
        name: "echo",
        script: "local/echo.ts",
        env: echo,
        stopMs: ECHO_STOP_MS,
        stage: STAGE.endpoints,
      },
    ],
  };
}

/** Of the local gateway. */
export function apiUrlOf({ apiPort }: Settings): string {
  return `http://127.0.0.1:${apiPort}`;
}

function pick(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}

/** `executor` when there is one, else `executor-1`, `executor-2`, …. */
function named(service: string, count: number): string[] {
  if (count === 1) return [service];
  return Array.from({ length: count }, (_, index) => `${service}-${index + 1}`);
}
