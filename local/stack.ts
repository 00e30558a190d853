import { join } from "node:path";
import type { ChildSpec } from "./keep-child.ts";
import type { Settings } from "./settings.ts";

// The processes that a start brings up, and what each is told. Workers refuse what they do not know, so they get their own
// settings and what any program needs, never the whole environment.

const PASSED_ON = ["PATH", "HOME", "LANG", "TMPDIR", "TZ"];
/** An executor gives its calls in flight 100 s and is gone inside 110 s (DESIGN 6.7). */
const EXECUTOR_STOP_MS = 115_000;
const STOP_MS = 15_000;
/** Workers before the endpoint that they may still be calling. */
const STAGE = { services: 0, endpoints: 1 };

export type Stack = { children: ChildSpec[]; apiUrl: string; echoUrl: string; logDir: string };

/** Pure: what to start for these settings. `mysqlUrl` names server and account, no database. */
export function planStack(
  settings: Settings,
  mysqlUrl: string,
  echoPort: number,
  env: NodeJS.ProcessEnv,
): Stack {
  const passedOn = Object.fromEntries(
    PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
  const services = { ...passedOn, MYSQL_URL: mysqlUrl, LOG_LEVEL: settings.logLevel };
  const executor = { ...services, EGRESS_ALLOW: "127.0.0.0/8:*" };
  const stage = STAGE.services;
  return {
    apiUrl: `http://127.0.0.1:${settings.apiPort}`,
    echoUrl: `http://127.0.0.1:${echoPort}`,
    logDir: join(settings.localDir, "log"),
    children: [
      {
        name: "gateway",
        script: "local/gateway.ts",
        env: { ...services, API_PORT: String(settings.apiPort) },
        stopMs: STOP_MS,
        stage,
      },
      ...named("scheduler", settings.schedulers).map((name) => ({
        name,
        script: "workers/scheduler/main.ts",
        env: services,
        stopMs: STOP_MS,
        stage,
      })),
      ...named("executor", settings.executors).map((name) => ({
        name,
        script: "workers/executor/main.ts",
        env: executor,
        stopMs: EXECUTOR_STOP_MS,
        stage,
      })),
      {
        name: "echo",
        script: "local/echo.ts",
        env: { ...passedOn, ECHO_PORT: String(echoPort) },
        stopMs: STOP_MS,
        stage: STAGE.endpoints,
      },
    ],
  };
}

/** `executor` when there is one, else `executor-1`, `executor-2`, …. */
function named(service: string, count: number): string[] {
  if (count === 1) return [service];
  return Array.from({ length: count }, (_, index) => `${service}-${index + 1}`);
}
