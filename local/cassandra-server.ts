import { parseContactPoints } from "#adapters/cassandra/client.ts";
import { CASSANDRA_PORT_DEFAULT, waitUntilCassandraAnswers } from "./cassandra-answers.ts";
import {
  chooseServer,
  endServer,
  type ServerKind,
  type ServerOptions,
  startServer,
} from "./database-server.ts";

/** A node that answers. `pid` is null when it is not a process of ours (CASSANDRA_CONTACT_POINTS, Docker). */
export type CassandraServer = {
  /** `127.0.0.1:9042` */
  contactPoints: string;
  pid: number | null;
  kind: ServerKind;
  /** Ends it; data is kept. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL; what was not yet on the disk is lost. */
  kill(): Promise<void>;
};
export type CassandraOptions = ServerOptions & {
  /** `group`: an acknowledged write survives a kill (native only). Default `periodic`, as Cassandra comes: 0.1 s may be lost. */
  sync?: "periodic" | "group";
};

const ANSWER_DEADLINE_MS = 60_000;
const CASSANDRA = {
  name: "Cassandra",
  service: "cassandra",
  folder: "cassandra-5.0.9",
  portVariable: "CASSANDRA_PORT",
  portDefault: CASSANDRA_PORT_DEFAULT,
  log: "log",
};

/** Which Cassandra a start with this environment uses. */
export function chooseCassandra(env: NodeJS.ProcessEnv): Promise<ServerKind> {
  return chooseServer(env.CASSANDRA_CONTACT_POINTS, env);
}

/**
 * Brings up Cassandra 5: the one that CASSANDRA_CONTACT_POINTS names (waits until it answers; stop() leaves it alone), else Docker
 * Compose where a Docker engine answers, else a native node on `dir`. Returns once it answers. Calling it again for a `dir` whose
 * node runs finds that one. `env` (default: the process's) is read for CASSANDRA_CONTACT_POINTS, CASSANDRA_HEAP, CASSANDRA_JIT,
 * LOCAL_CACHE. Throws SetupError with a line that says what to do.
 */
export async function startCassandra(opts: CassandraOptions): Promise<CassandraServer> {
  const env = opts.env ?? process.env;
  const kind = await chooseCassandra(env);
  if (kind === "given") {
    const points = parseContactPoints(env.CASSANDRA_CONTACT_POINTS ?? "");
    await answers(points, opts);
    const leave = async () => {};
    return { contactPoints: points.join(","), pid: null, kind, stop: leave, kill: leave };
  }
  const startEnv = { ...env, CASSANDRA_SYNC: opts.sync ?? "periodic" };
  const { port, pid } = await startServer(CASSANDRA, kind, opts, startEnv);
  const contactPoints = `127.0.0.1:${port}`;
  await answers([contactPoints], opts);
  const end = (how: "stop" | "kill") => endServer(CASSANDRA, kind, opts.dir, env, how);
  return { contactPoints, pid, kind, stop: () => end("stop"), kill: () => end("kill") };
}

/** Stops the node of `dir` that an earlier startCassandra left running, in Docker (`docker`) or natively. Data is kept. */
export async function stopCassandra(
  dir: string,
  kind: ServerKind,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  if (kind !== "given") await endServer(CASSANDRA, kind, dir, env);
}

function answers(points: readonly string[], opts: CassandraOptions): Promise<void> {
  const progress = opts.onProgress ?? (() => {});
  return waitUntilCassandraAnswers(points, progress, ANSWER_DEADLINE_MS, opts.signal);
}
