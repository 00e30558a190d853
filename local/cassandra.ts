import { parseArgs } from "node:util";
import { CASSANDRA_PORT_DEFAULT } from "./cassandra-answers.ts";
import { chooseCassandra, startCassandra, stopCassandra } from "./cassandra-server.ts";
import { SetupError } from "./setup-error.ts";
import { runMain } from "./terminal.ts";

// Cassandra alone, for tests and benches: `start` prints its contact point and returns while the node stays up.
const USAGE =
  "usage: node local/cassandra.ts start --dir DIR [--port PORT] [--sync group] | stop --dir DIR";

async function main(): Promise<void> {
  const { values, positionals } = readArgs();
  const [verb, ...rest] = positionals;
  const port = values.port === undefined ? CASSANDRA_PORT_DEFAULT : Number(values.port);
  const sync = values.sync ?? "periodic";
  const wellFormed =
    values.dir !== undefined &&
    rest.length === 0 &&
    Number.isInteger(port) &&
    port >= 1 &&
    port <= 65_535 &&
    (sync === "periodic" || sync === "group");
  if (!wellFormed || values.dir === undefined) throw new SetupError(USAGE);
  // Here CASSANDRA_CONTACT_POINTS is what the caller wants to learn, not an input.
  const { CASSANDRA_CONTACT_POINTS: _, ...env } = process.env;
  if (verb === "start") {
    const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
    const server = await startCassandra({ dir: values.dir, port, env, sync, onProgress });
    process.stdout.write(`${server.contactPoints}\n`);
  } else if (verb === "stop") {
    await stopCassandra(values.dir, await chooseCassandra(env), env);
  } else {
    throw new SetupError(USAGE);
  }
}

function readArgs() {
  try {
    return parseArgs({
      options: {
        dir: { type: "string" },
        port: { type: "string" },
        sync: { type: "string" },
      },
      allowPositionals: true,
    });
  } catch (error) {
    throw new SetupError(USAGE, { cause: error });
  }
}

await runMain(main);
