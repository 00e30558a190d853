import { resolve } from "node:path";
import { archiverEnv } from "#functions/archiver/env.ts";
import { reconcilerEnv } from "#functions/reconciler/env.ts";
import { executorEnv } from "#workers/executor/env.ts";
import { schedulerEnv } from "#workers/scheduler/env.ts";
import { CASSANDRA_PORT_DEFAULT } from "./cassandra-answers.ts";
import { throttleEnv } from "./gateway-env.ts";
import { parseMysqlUrl } from "./mysql-answers.ts";
import { MYSQL_PORT_DEFAULT } from "./mysql-server.ts";
import { SetupError } from "./setup-error.ts";

/** What the local stack is started with. Ports are TCP ports on 127.0.0.1. */
export type Settings = {
  localDir: string;
  apiPort: number;
  mysqlPort: number;
  cassandraPort: number;
  executors: number;
  schedulers: number;
  /** Health and metrics of the first process; the others' follow. 0: ports that the system picks. */
  metricsPort: number;
};

export const LOCAL_KEY = "local-dev-key";
const PROCESSES_MAX = 16;

const KNOWN: readonly string[] = [
  "API_PORT",
  "CASSANDRA_PORT",
  "EXECUTORS",
  "LOCAL_CACHE",
  "LOCAL_DIR",
  "MYSQL_PORT",
  "MYSQL_URL",
  "SCHEDULERS",
  // Passed on to the processes that declare them.
  ...Object.keys({
    ...executorEnv,
    ...schedulerEnv,
    ...throttleEnv,
    ...reconcilerEnv,
    ...archiverEnv,
  }),
];
// Names that can only be meant for us. Not all of MYSQL_ and CASSANDRA_: their own tools read MYSQL_PWD, CASSANDRA_HOME, ….
const OURS =
  /^(API_BURST|API_PORT|API_RATE|ARCHIVE_(SUCC|ENDED)|CASSANDRA_CONTACT|CASSANDRA_PORT|EGRESS_(A|D|IPV)|EXECUTOR|LOCAL_|METRICS_|MYSQL_PORT|MYSQL_URL|SCHEDULER|SECRETS_)/;

/** Reads and checks our settings. Throws SetupError, one line, for the first one that is unknown or malformed. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  for (const name of Object.keys(env)) {
    if (OURS.test(name) && !KNOWN.includes(name)) {
      throw new SetupError(
        `unknown setting ${name}: known are ${[...new Set(KNOWN)].sort().join(", ")}`,
      );
    }
  }
  if (env.MYSQL_URL) parseMysqlUrl(env.MYSQL_URL);
  const settings: Settings = {
    localDir: resolve(env.LOCAL_DIR || ".local"),
    apiPort: readInteger(env, "API_PORT", 8787, 1, 65_535),
    mysqlPort: readInteger(env, "MYSQL_PORT", MYSQL_PORT_DEFAULT, 1, 65_535),
    cassandraPort: readInteger(env, "CASSANDRA_PORT", CASSANDRA_PORT_DEFAULT, 1, 65_535),
    executors: readInteger(env, "EXECUTORS", 1, 1, PROCESSES_MAX),
    schedulers: readInteger(env, "SCHEDULERS", 1, 1, PROCESSES_MAX),
    metricsPort: readInteger(env, "METRICS_PORT", 0, 0, 65_000),
  };
  refuseSamePort(settings, env);
  // The native server's start script and its socket path (at most 107 bytes) are what limits this.
  if (/[\s,"'\\]/.test(settings.localDir) || Buffer.byteLength(settings.localDir) > 90) {
    throw new SetupError(
      `LOCAL_DIR has to be a path of at most 90 bytes without blanks, commas, quotes and backslashes, not ${settings.localDir}`,
    );
  }
  return settings;
}

/** Of the ports that this start is going to listen on. */
function refuseSamePort(settings: Settings, env: NodeJS.ProcessEnv): void {
  const ports = [
    ["API_PORT", settings.apiPort],
    ...(env.MYSQL_URL ? [] : [["MYSQL_PORT", settings.mysqlPort] as const]),
    ...(env.CASSANDRA_CONTACT_POINTS ? [] : [["CASSANDRA_PORT", settings.cassandraPort] as const]),
  ] as const;
  for (const [at, [name, port]] of ports.entries()) {
    const same = ports.slice(at + 1).find(([, other]) => other === port);
    if (same) throw new SetupError(`${name} and ${same[0]} are both ${port}: choose two ports`);
  }
}

/** The command line's flags, each of them given as `--name`. Throws SetupError for any other argument. */
export function readFlags<Name extends string>(
  args: readonly string[],
  known: readonly Name[],
): Set<Name> {
  const flags = new Set<Name>();
  for (const arg of args) {
    const name = known.find((candidate) => arg === `--${candidate}`);
    if (!name) {
      const what = known.length > 0 ? known.map((flag) => `--${flag}`).join(", ") : "no argument";
      throw new SetupError(`unknown argument ${arg}: this command takes ${what}`);
    }
    flags.add(name);
  }
  return flags;
}

/** A whole number out of the environment. Throws SetupError. */
export function readInteger(
  env: NodeJS.ProcessEnv,
  name: string,
  fallback: number,
  min: number,
  max: number,
): number {
  const text = env[name];
  if (text === undefined || text === "") return fallback;
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new SetupError(`${name} has to be a whole number from ${min} to ${max}, not '${text}'`);
  }
  return value;
}
