/** MySQL itself: gone, turned into a reader, with another password. */
import { openFakeAws } from "#test/support/fake-aws.ts";
import { testKeyFile } from "#test/support/worker-process.ts";
import type { FaultDatabase } from "../database.ts";
import type { Fault } from "../fault.ts";

const AWAY_MS = 30_000;

/** `awayMs` from the kill to the start of its next life; it answers when its recovery is through. */
export function mysqlKilled(awayMs: number): Fault {
  return {
    id: "F14",
    title: "MySQL away",
    breaks: `MySQL killed (SIGKILL), away for ${awayMs / 1_000} s`,
    limits: { recoveryMs: 5_000 },
    async inject({ database, sleep }) {
      const brokenAtMs = Date.now();
      database.kill();
      await sleep(awayMs);
      await database.restart();
      const mendedAtMs = Date.now();
      await sleep(10_000);
      const awayS = ((mendedAtMs - brokenAtMs) / 1_000).toFixed(0);
      return { brokenAtMs, mendedAtMs, notes: `away ${awayS} s altogether` };
    },
  };
}

export const mysqlAway = mysqlKilled(AWAY_MS);

const FAILOVER_MS = 5_000;

export const readOnlyFlip: Fault = {
  id: "F15",
  title: "read-only flip",
  breaks:
    "the writer becomes a reader: 5 s in which nobody can write, then new connections can and those from before never again",
  proxied: () => true,
  limits: { recoveryMs: 15_000 },
  async inject({ database, proxy, fleet, sleep }) {
    const lives = fleet.names("executor").join();
    const brokenAtMs = Date.now();
    await database.run("SET GLOBAL super_read_only = ON");
    proxy.makeOpenOnesReadOnly();
    await sleep(FAILOVER_MS);
    // What was opened meanwhile is on the old writer too.
    proxy.makeOpenOnesReadOnly();
    await database.run("SET GLOBAL super_read_only = OFF");
    await database.run("SET GLOBAL read_only = OFF");
    const mendedAtMs = Date.now();
    await sleep(10_000);
    const same = fleet.names("executor").join() === lives;
    return { brokenAtMs, mendedAtMs, notes: same ? "no restart" : "restarted" };
  },
  check: async ({ proxy, database }) => {
    await database.run("SET GLOBAL read_only = OFF");
    return proxy.open > 0 ? ["a process has not let its connections go"] : [];
  },
};

const SECRET = "arn:faults:account";
const PASSWORDS = ["first-0", "second-1"] as const;
const ROTATION_LAG_MS = 2_000;

export const rotatedCredentials: Fault = {
  id: "F16",
  title: "credentials rotated",
  breaks:
    "the account's password changed, every session killed, the new one in the secret 2 s later",
  limits: { recoveryMs: 10_000 },
  async prepare(database: FaultDatabase, use: AsyncDisposableStack) {
    const aws = use.use(await openFakeAws());
    await database.run(`CREATE USER IF NOT EXISTS 'app'@'%'`);
    await database.run(`ALTER USER 'app'@'%' IDENTIFIED BY '${PASSWORDS[0]}'`);
    await database.run(`GRANT ALL ON *.* TO 'app'@'%'`);
    aws.accounts.set(SECRET, { username: "app", password: PASSWORDS[0] });
    accounts = aws.accounts;
    const url = new URL(database.mysqlUrl);
    url.username = "";
    // What the database's secrets were sealed with stays.
    const keys = { SECRETS_KMS_KEY: "", SECRETS_KEY_FILE: testKeyFile() };
    const env = { ...aws.env, ...keys, MYSQL_SECRET_ARN: SECRET };
    return { mysqlUrl: url.href, env };
  },
  async inject({ database, sleep }) {
    const brokenAtMs = Date.now();
    await database.run(`ALTER USER 'app'@'%' IDENTIFIED BY '${PASSWORDS[1]}'`);
    const sessions = await database.run(
      "SELECT id FROM information_schema.processlist WHERE user = 'app'",
    );
    for (const { id, ID = id } of sessions)
      await database.run(`KILL ${ID}`).catch(() => {
        // It went by itself meanwhile.
      });
    await sleep(ROTATION_LAG_MS);
    accounts.set(SECRET, { username: "app", password: PASSWORDS[1] });
    const mendedAtMs = Date.now();
    await sleep(10_000);
    return { brokenAtMs, mendedAtMs, notes: `${sessions.length} sessions killed` };
  },
};

/** Of the run under way: faults run one after the other. */
let accounts: Awaited<ReturnType<typeof openFakeAws>>["accounts"] = new Map();
