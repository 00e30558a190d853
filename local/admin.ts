/**
 * Tenants, API keys and IAM principals of any deployment: `npm run admin -- --help`.
 * Exit codes: 0 done, 1 refused (a value too) or the database is away, 2 no such command line. Errors are one line on stderr.
 */
import { assertMasterKeyFits, openVault } from "#adapters/crypto/vault.ts";
import { openAccount } from "#adapters/deployment/open-account.ts";
import { openMasterKey } from "#adapters/deployment/open-master-key.ts";
import type { RotatingAccount } from "#adapters/mysql/account.ts";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import { controlDatabase, DATABASE_PREFIX } from "#adapters/mysql/database-names.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { OperatingError, OutcomeUnknown } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { SigningDeps } from "#core/services/signing/rotate-signing-secret.ts";
import {
  type AdminAnswer,
  type AdminLine,
  readCommandLine,
  refuse,
  UsageError,
  usageOf,
} from "./admin/arguments.ts";
import { keyCommands } from "./admin/keys.ts";
import { limitCommands } from "./admin/limits.ts";
import { principalCommands } from "./admin/principals.ts";
import { secretCommands } from "./admin/secrets.ts";
import { tenantCommands } from "./admin/tenants.ts";
import { zoneCommands } from "./admin/zones.ts";
import { parseMysqlUrl } from "./mysql-answers.ts";
import { isRunning, readRun } from "./run-file.ts";
import { localKeyFile } from "./secrets-key.ts";
import { readSettings } from "./settings.ts";
import { say } from "./terminal.ts";

const COMMANDS = [
  ...tenantCommands,
  ...limitCommands,
  ...keyCommands,
  ...principalCommands,
  ...secretCommands,
  ...zoneCommands,
];

const INTRODUCTION = `Who may call the API, and how much of it. A tenant owns tasks; it calls with an API key (header x-api-key) or as an IAM
role or user. Scopes are read, write and admin; none contains another. A tenant may have two live keys with the same
scopes: to rotate, make the new one, use it, revoke the old one.

Usage: npm run admin -- COMMAND [--json] [--mysql-url URL]
`;
const CONCLUSION = `
--json             the answer as one line of JSON
--mysql-url URL    the deployment's database, mysql://user:password@host:port; else MYSQL_URL, which keeps the password
                   out of the list of processes; else the system that 'npm start' runs here
MYSQL_SECRET_ARN   the account as a secret of Secrets Manager, where the URL names the server only: mysql://host?ssl=Amazon%20RDS
SECRETS_KEY_FILE   what seals signing secrets, or SECRETS_KMS_KEY; of the system that runs here it need not be named
DATABASE_PREFIX    first part of the databases' names, 'scheduler_' unless set

To begin: npm run admin -- tenant create acme && npm run admin -- key create acme`;

function help(): string {
  const usages = COMMANDS.map(usageOf);
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const lines = COMMANDS.map(({ name, about }, at) => {
    const rest = usages[at]?.slice(name.length) ?? "";
    return `  ${`${name.padEnd(width)}${rest}`.trimEnd()}\n      ${about}`;
  });
  return [INTRODUCTION, ...lines, CONCLUSION].join("\n");
}

/** The server to talk to, and whether it is of the system that runs here. Throws SetupError when none is named and nothing runs. */
function findMysql(given: string | null): Pick<Mysql, "mysqlUrl" | "isLocal"> {
  const named = given ?? process.env.MYSQL_URL ?? "";
  if (named !== "") return { mysqlUrl: parseMysqlUrl(named), isLocal: false };
  const { localDir } = readSettings(process.env);
  const run = readRun(localDir);
  if (run?.mysql && isRunning(run)) return { mysqlUrl: run.mysql.url, isLocal: true };
  refuse("which database? Set MYSQL_URL or --mysql-url, or begin the local system with npm start");
}

async function run({ command, operands, options, mysqlUrl }: AdminLine): Promise<AdminAnswer> {
  const databasePrefix = process.env.DATABASE_PREFIX || DATABASE_PREFIX;
  controlDatabase(databasePrefix);
  const found = findMysql(mysqlUrl);
  // The account of a secret is fetched with the credentials of whoever calls.
  const account = await openAccount({ MYSQL_SECRET_ARN: process.env.MYSQL_SECRET_ARN ?? "" }, null);
  const mysql: Mysql = { ...found, databasePrefix, account };
  const control = openControlStore(mysql);
  try {
    return await command.run(
      {
        control,
        random: systemRandom,
        digest: systemDigest,
        withShards: (work) => withShards(mysql, work),
        withSigning: (work) => withSigning(mysql, work),
      },
      operands,
      options,
    );
  } catch (error) {
    if (!(error instanceof OperatingError) || !error.retryable) throw error;
    const advice =
      error instanceof OutcomeUnknown
        ? "it may be done or not: look at the list before you try again"
        : "nothing was done";
    refuse(`${error.message} (${new URL(found.mysqlUrl).host}); ${advice}`);
  } finally {
    await control.close();
  }
}

interface Mysql {
  readonly isLocal: boolean;
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
  readonly account: RotatingAccount | null;
}

async function withShards<Result>(
  mysql: Mysql,
  work: (shards: Shards) => Promise<Result>,
): Promise<Result> {
  const shards = openShards(mysql);
  try {
    return await work(shards);
  } finally {
    await shards.close();
  }
}

async function withSigning<Result>(
  mysql: Mysql,
  work: (deps: SigningDeps) => Promise<Result>,
): Promise<Result> {
  const { SECRETS_KMS_KEY = "" } = process.env;
  // The key of this machine is never taken for another's: what it seals there would not open.
  if (!mysql.isLocal && SECRETS_KMS_KEY === "" && !process.env.SECRETS_KEY_FILE)
    refuse(
      "which key? Set SECRETS_KMS_KEY or SECRETS_KEY_FILE to the master key of the deployment",
    );
  const SECRETS_KEY_FILE = localKeyFile(readSettings(process.env).localDir, process.env);
  const masterKey = await openMasterKey({ SECRETS_KEY_FILE, SECRETS_KMS_KEY });
  const setting =
    SECRETS_KMS_KEY === "" ? `SECRETS_KEY_FILE ${SECRETS_KEY_FILE}` : "SECRETS_KMS_KEY";
  return withShards(mysql, async (shards) => {
    for (const { secrets } of shards.all()) await assertMasterKeyFits(masterKey, secrets, setting);
    const storeOf = (id: TenantId) => shards.forTenant(id).secrets;
    const sealer = openVault({ masterKey, storeOf, clock: systemClock, refusedMs: 0 });
    return work({ shards, sealer, random: systemRandom });
  });
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const line = readCommandLine(args, COMMANDS);
    if (line === "help") {
      say(help());
      return 0;
    }
    const { json, lines } = await run(line);
    if (line.json) say(JSON.stringify(json));
    else for (const text of lines) say(text);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message} (npm run admin -- --help explains)\n`);
      return 2;
    }
    const isOurs = error instanceof OperatingError;
    process.stderr.write(`${isOurs ? error.message : ((error as Error).stack ?? error)}\n`);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
