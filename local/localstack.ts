import { join } from "node:path";
import { DATABASE_PREFIX } from "#adapters/mysql/database-names.ts";
import { retentionEnv } from "#adapters/system/env-parts.ts";
import { KEYSPACE } from "#migrations/migrate-cassandra.ts";
import { dockerAnswers } from "./docker-compose.ts";
import { holdDirectory } from "./hold-directory.ts";
import { deployedUrl, destroyStacks } from "./localstack/deploy.ts";
import { installPython } from "./localstack/install-python.ts";
import { prepareDatabases } from "./prepare-databases.ts";
import { localKeyFile } from "./secrets-key.ts";
import { readFlags, readInteger, readSettings, type Settings } from "./settings.ts";
import { SetupError } from "./setup-error.ts";
import { planStack, type Stack } from "./stack.ts";
import { supervise } from "./supervisor.ts";
import { listenForStop, runMain, say } from "./terminal.ts";

// npm run localstack [-- --destroy] [-- --quiet]: what npm start brings up, but with the API and the ticks in LocalStack, deployed by
// the CDK from the stacks that go to AWS. LOCALSTACK_PORT (4566); LOCALSTACK_DOCKER=off: from PyPI even where Docker answers.

const PORT_DEFAULT = 4_566;
/** Bootstrap and deploy, on a slow machine. */
const COMES_UP_MS = 6 * 60_000;
const CLOUD_STOP_MS = 30_000;

async function main(): Promise<void> {
  const flags = readFlags(process.argv.slice(2), ["destroy", "quiet"]);
  const settings = readSettings(process.env);
  const port = readInteger(process.env, "LOCALSTACK_PORT", PORT_DEFAULT, 1, 65_535);
  const dir = join(settings.localDir, "localstack");
  if (flags.has("destroy")) {
    const endpoint = `http://127.0.0.1:${port}`;
    return destroyStacks({ endpoint, dir, env: process.env, say });
  }
  const signals = listenForStop();
  if (!(await holdDirectory(settings.localDir)))
    throw new SetupError(`a local system runs in ${settings.localDir}: 'npm stop' ends it`);
  let python: string | null = null;
  await supervise({
    settings,
    apiUrl: deployedUrl(port),
    env: process.env,
    say,
    quiet: flags.has("quiet"),
    ...signals,
    prepare: async (databases, onProgress) => {
      await prepareDatabases(databases, settings, process.env, onProgress);
      const { LOCALSTACK_DOCKER } = process.env;
      const inDocker = LOCALSTACK_DOCKER !== "off" && (await dockerAnswers(process.env));
      if (!inDocker) python = await installPython(process.env, onProgress, signals.stop);
      onProgress(`deploying to LocalStack: ${join(settings.localDir, "log", "localstack.log")}`);
    },
    plan: (...given) => inLocalstack(planStack(...given), given, { port, dir, python }),
  });
}

/** The plan of npm start, with LocalStack in the place of the gateway and the ticks. */
function inLocalstack(
  stack: Stack,
  [settings, databases, , env]: Parameters<typeof planStack>,
  { port, dir, python }: { port: number; dir: string; python: string | null },
): Stack {
  const cloud = {
    name: "localstack",
    script: "local/localstack/run-cloud.ts",
    env: {
      ...cloudSettings(settings, databases, env),
      LOCALSTACK_PORT: String(port),
      LOCALSTACK_DIR: dir,
      LOCALSTACK_PYTHON: python ?? "",
    },
    stopMs: CLOUD_STOP_MS,
    stage: 0,
    watched: false,
  };
  const kept = stack.children.filter(({ name }) => /^(scheduler|executor|echo)/.test(name));
  return {
    ...stack,
    children: [cloud, ...kept],
    apiUrl: deployedUrl(port),
    comesUpInMs: COMES_UP_MS,
  };
}

/** What infra's stage `localstack` reads, and what any program needs. */
function cloudSettings(
  settings: Settings,
  { mysqlUrl, contactPoints }: Parameters<typeof planStack>[1],
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return {
    PATH: env.PATH,
    HOME: env.HOME,
    TMPDIR: env.TMPDIR,
    MYSQL_URL: mysqlUrl,
    DATABASE_PREFIX: env.DATABASE_PREFIX || DATABASE_PREFIX,
    CASSANDRA_CONTACT_POINTS: contactPoints,
    CASSANDRA_KEYSPACE: env.CASSANDRA_KEYSPACE || KEYSPACE,
    CASSANDRA_DATACENTER: env.CASSANDRA_DATACENTER || "datacenter1",
    SECRETS_KEY_FILE: localKeyFile(settings.localDir, env),
    ARCHIVE_SUCCEEDED_AFTER_SECONDS:
      env.ARCHIVE_SUCCEEDED_AFTER_SECONDS ||
      String(retentionEnv.ARCHIVE_SUCCEEDED_AFTER_SECONDS.default),
    ARCHIVE_ENDED_AFTER_SECONDS:
      env.ARCHIVE_ENDED_AFTER_SECONDS || String(retentionEnv.ARCHIVE_ENDED_AFTER_SECONDS.default),
  };
}

await runMain(main);
// A wait that was given up, such as a pooled connection, must not keep a stopped supervisor alive.
process.exit();
