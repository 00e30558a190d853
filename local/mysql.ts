import { parseArgs } from "node:util";
import { chooseMysql, MYSQL_PORT_DEFAULT, startMysql, stopMysql } from "./mysql-server.ts";
import { SetupError } from "./setup-error.ts";
import { runMain } from "./terminal.ts";

// MySQL alone, for tests and benches: `start` prints its URL and returns while the server stays up.
const USAGE = "usage: node local/mysql.ts start --dir DIR [--port PORT] [--perf] | stop --dir DIR";

async function main(): Promise<void> {
  const { values, positionals } = readArgs();
  const [verb, ...rest] = positionals;
  const port = values.port === undefined ? MYSQL_PORT_DEFAULT : Number(values.port);
  if (!values.dir || rest.length > 0 || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw new SetupError(USAGE);
  // Here MYSQL_URL is what the caller wants to learn, not an input.
  const { MYSQL_URL: _, ...env } = process.env;
  if (verb === "start") {
    const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
    const server = await startMysql({
      dir: values.dir,
      port,
      env,
      perf: values.perf === true,
      onProgress,
    });
    process.stdout.write(`${server.url}\n`);
  } else if (verb === "stop") {
    await stopMysql(values.dir, await chooseMysql(env), env);
  } else {
    throw new SetupError(USAGE);
  }
}

function readArgs() {
  try {
    return parseArgs({
      options: { dir: { type: "string" }, port: { type: "string" }, perf: { type: "boolean" } },
      allowPositionals: true,
    });
  } catch (error) {
    throw new SetupError(USAGE, { cause: error });
  }
}

await runMain(main);
