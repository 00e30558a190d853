import { DATABASE_PREFIX } from "#adapters/mysql/database-names.ts";
import { migrate } from "#migrations/migrate.ts";
import { KEYSPACE, migrateCassandra } from "#migrations/migrate-cassandra.ts";
import { parseMysqlUrl } from "./mysql-answers.ts";
import { isRunning, type Run, readRun } from "./run-file.ts";
import { readSettings } from "./settings.ts";
import { SetupError } from "./setup-error.ts";
import { runMain, say } from "./terminal.ts";

// npm run migrate [-- mysql|cassandra]: brings the databases that MYSQL_URL and CASSANDRA_CONTACT_POINTS name to the newest schema, or
// those of the system that runs here. Safe to repeat. DATABASE_PREFIX and CASSANDRA_KEYSPACE as everywhere.
const USAGE = "usage: npm run migrate [-- mysql|cassandra]";

async function main(): Promise<void> {
  const [which = "both", ...rest] = process.argv.slice(2);
  if (!["both", "mysql", "cassandra"].includes(which) || rest.length > 0)
    throw new SetupError(USAGE);
  const run = readRun(readSettings(process.env).localDir);
  const found = findDatabases(run && isRunning(run) ? run : null);
  // One of the two may be named alone: then it is the one that is meant.
  const named = found.filter(({ kind, at }) => (which === "both" || which === kind) && at !== "");
  if (named.length === 0) {
    const settings = { both: "MYSQL_URL, CASSANDRA_CONTACT_POINTS or both", mysql: "MYSQL_URL" };
    const setting = settings[which as keyof typeof settings] ?? "CASSANDRA_CONTACT_POINTS";
    throw new SetupError(
      `which database? Set ${setting}, or begin the local system with npm start`,
    );
  }
  let applied = 0;
  const onProgress = (line: string): void => {
    applied++;
    say(line);
  };
  for (const { kind, at } of named)
    if (kind === "mysql") {
      const databasePrefix = process.env.DATABASE_PREFIX || DATABASE_PREFIX;
      await migrate({ mysqlUrl: parseMysqlUrl(at), databasePrefix, onProgress, onWait: say });
    } else {
      const keyspace = process.env.CASSANDRA_KEYSPACE || KEYSPACE;
      await migrateCassandra({ contactPoints: at, keyspace, onProgress });
    }
  if (applied === 0) say(`nothing to apply: ${named.map(({ kind }) => kind).join(" and ")}`);
}

/** What the environment names; what it does not name is looked for in the run only when it names nothing. */
function findDatabases(run: Run | null): { kind: "mysql" | "cassandra"; at: string }[] {
  const { MYSQL_URL = "", CASSANDRA_CONTACT_POINTS = "" } = process.env;
  const isNamed = MYSQL_URL !== "" || CASSANDRA_CONTACT_POINTS !== "";
  return [
    { kind: "mysql", at: isNamed ? MYSQL_URL : (run?.mysql?.url ?? "") },
    {
      kind: "cassandra",
      at: isNamed ? CASSANDRA_CONTACT_POINTS : (run?.cassandra?.contactPoints ?? ""),
    },
  ];
}

await runMain(main);
