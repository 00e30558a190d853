/** What an operator changes about tenants, keys, quotas and principals: when it holds, and what a mistake is told. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import middy from "@middy/core";
import { makeKeyFile } from "#adapters/crypto/key-file.ts";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { ApiEvent, ApiResult } from "#functions/_shared/api-event.ts";
import { authenticate } from "#functions/_shared/authenticate.ts";
import { answerProblems, findRoute } from "#functions/_shared/middlewares.ts";
import { ROUTES } from "#functions/_shared/routes.ts";
import { createGateway, type Handlers } from "#local/gateway-server.ts";
import { identify } from "#local/process-identity.ts";
import { writeRun } from "#local/run-file.ts";
import type { ApiAnswer } from "#test/support/api-client.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { makeTestDatabases } from "#test/support/mysql.ts";
import { operatorOf } from "#test/support/operator.ts";
import { buildTask, createMany } from "../contract/builders.ts";

const ANSWER_MS = 30_000;

const databases = await makeTestDatabases();
const { admin, done, refused } = operatorOf(databases);

before(async () => {
  for (const tenant of ["acme", "other"]) await done("tenant", "create", tenant);
});
after(() => databases.drop());

/** The middlewares of every handler over the real control database, on a clock that the test moves. */
async function openOnManualClock() {
  const clock = new ManualClock(Date.now());
  const { mysqlUrl, databasePrefix } = databases;
  const control = openControlStore({ mysqlUrl, databasePrefix });
  const handler = middy(
    async ({ principal }: ApiEvent): Promise<ApiResult> => ({
      statusCode: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(principal),
    }),
  )
    .use(findRoute(ROUTES, clock))
    .use(authenticate(control, clock, systemDigest))
    .use(answerProblems({ info() {}, warn() {}, error() {} }));
  const handlers = Object.fromEntries(ROUTES.map((route) => [route.handler, handler])) as Handlers;
  const server = createGateway(handlers, () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    clock,
    // Not the API's client: it would refuse an answer that is no list of tasks.
    async get(key: string): Promise<{ status: number; body: ApiAnswer["body"] }> {
      const options = { headers: { "x-api-key": key }, signal: AbortSignal.timeout(ANSWER_MS) };
      const response = await fetch(`http://127.0.0.1:${port}/v1/tasks`, options);
      return { status: response.status, body: await response.json() };
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
      await control.close();
    },
  };
}

test("rotation, and what is revoked is refused within a minute", async () => {
  await using api = await openOnManualClock();
  await done("tenant", "create", "rotates", "--name", 'It\'s "Rotating" 😀');
  const make = () => done("key", "create", "rotates");
  const [old, fresh] = [await make(), await make()];
  await refused(["key", "create", "rotates"], 1, /2 live keys with the scopes read,write \(key_/);
  for (const { secret } of [old, fresh]) {
    const { status, body } = await api.get(secret);
    assert.deepEqual([status, body.tenantId, body.scopes], [200, "rotates", ["read", "write"]]);
  }
  const revoked = await done("key", "revoke", old.id);
  assert.match(revoked.revokedAt, /Z$/);
  assert.equal((await done("key", "revoke", old.id)).revokedAt, revoked.revokedAt);
  await api.clock.advance(30_000);
  assert.equal((await api.get(old.secret)).status, 401);
  assert.equal((await api.get(fresh.secret)).status, 200);
  assert.equal((await make()).id.length, "key_".length + 16);
  const { items } = await done("key", "list", "rotates");
  assert.deepEqual([items.length, items[2].id], [3, old.id]);
});

test("a disabled tenant is refused within a minute, an enabled one served again", async () => {
  await using api = await openOnManualClock();
  await done("tenant", "create", "pauses");
  const { secret } = await done("key", "create", "pauses", "--scopes", "read");
  assert.equal((await api.get(secret)).status, 200);
  assert.equal((await done("tenant", "disable", "pauses")).status, "disabled");
  await api.clock.advance(30_000);
  const answer = await api.get(secret);
  assert.equal(answer.status, 403);
  assert.match(answer.body.detail, /tenant pauses is disabled/);
  await done("tenant", "enable", "pauses");
  await api.clock.advance(30_000);
  assert.equal((await api.get(secret)).status, 200);
});

test("quotas reach the handlers; what is taken back follows the default", async () => {
  await using api = await openOnManualClock();
  await done("tenant", "create", "limited");
  const { secret } = await done("key", "create", "limited");
  const set = ["--tasks", "5", "--body-bytes", "1000", "--min-interval", "60"];
  const { quotas } = await done("tenant", "quotas", "limited", ...set);
  assert.deepEqual(quotas, { tasksMax: 5, bodyBytesMax: 1_000, minIntervalSeconds: 60 });
  assert.deepEqual((await api.get(secret)).body.quotas, quotas);
  const after = await done("tenant", "quotas", "limited", "--body-bytes", "default");
  assert.deepEqual(after.quotas, { ...quotas, bodyBytesMax: null });
  await api.clock.advance(30_000);
  assert.deepEqual((await api.get(secret)).body.quotas, after.effectiveQuotas);
  assert.equal(after.effectiveQuotas.bodyBytesMax, 262_144);
  assert.deepEqual((await done("tenant", "quotas", "limited")).quotas, after.quotas);
  await refused(["tenant", "quotas", "limited", "--tasks=-1"], 1, /--tasks has to be a whole/);
  await refused(["tenant", "quotas", "limited", "--min-interval", "0"], 1, /from 1 to 31622400/);
});

test("IAM principals are mapped, listed and unmapped", async () => {
  await done("tenant", "create", "iam");
  const session = "arn:aws:sts::123456789012:assumed-role/Caller/i-0abc";
  const arn = "arn:aws:iam::123456789012:role/Caller";
  const mapped = await done("principal", "map", session, "iam", "--scopes", "read");
  assert.deepEqual([mapped.arn, mapped.tenantId, mapped.scopes], [arn, "iam", ["read"]]);
  await refused(["principal", "map", arn, "other"], 1, /acts for tenant iam already/);
  assert.deepEqual((await done("principal", "list")).items, [mapped]);
  assert.deepEqual(await done("principal", "unmap", arn), { arn });
  assert.deepEqual((await done("principal", "list")).items, []);
  await refused(["principal", "unmap", arn], 1, /acts for no tenant/);
  await refused(["principal", "map", "arn:aws:iam::1:role/*", "iam"], 1, /is no role's or user's/);
});

test("next runs that older time zone data has computed are moved, of all tenants, also twice", async () => {
  const { mysqlUrl, databasePrefix, run } = databases;
  const shards = openShards({ mysqlUrl, databasePrefix });
  try {
    // British Columbia keeps -07:00 from November 2026 on: older data has 17:00Z for its 09:00.
    const schedule = {
      type: "cron",
      expression: "0 9 15 1 *",
      timezone: "America/Vancouver",
    } as const;
    const nextRunAtMs = Date.UTC(2099, 0, 15, 16);
    const make = async (tenant: string, count: number, lateMs: number) => {
      const tenantId = tenant as TenantId;
      const tasks = Array.from({ length: count }, (_, n) => {
        const task = { tenantId, name: `yearly ${lateMs} ${n}`, schedule };
        return buildTask(Date.now(), { task: { ...task, nextRunAtMs: nextRunAtMs + lateMs } });
      });
      const made = await createMany(shards.forTenant(tenantId).tasks, tasks);
      assert.ok(made.every(({ kind }) => kind === "created"));
    };
    await make("acme", 1, 3_600_000);
    await make("acme", 198, 0);
    await make("acme", 3, -3_600_000);
    await make("other", 1, 3_600_000);
    const zoneData = process.versions.tz;
    assert.deepEqual(await done("zones", "apply"), { zoneData, tasks: 203, moved: 5 });
    assert.deepEqual(await done("zones", "apply"), { zoneData, tasks: 203, moved: 0 });
    const stored = await run(
      "SELECT COUNT(*) AS tasks, SUM(version) AS versions FROM tasks WHERE next_run_at = '2099-01-15 16:00'",
    );
    assert.deepEqual(
      stored.map(({ tasks, versions }) => [tasks, Number(versions)]),
      [[203, 203]],
    );
  } finally {
    await shards.close();
  }
});

test("mistakes are one line: 1 for what is refused, 2 for the command line", async () => {
  await refused(["tenant", "create", "acme"], 1, /tenant acme exists already/);
  await refused(["tenant", "create", "Acme"], 1, /a-z, 0-9/);
  await refused(["key", "create", "nobody"], 1, /there is no tenant 'nobody'/);
  await refused(["key", "create", "acme", "--scopes", "all"], 1, /read,write,admin/);
  await refused(["key", "revoke", "key_0123456789abcdef"], 1, /there is no key/);
  await refused(["tenant", "create"], 2, /tenant create TENANT \[--name NAME\]/);
  await refused(["tenant", "list", "--bogus"], 2, /Unknown option '--bogus'/);
  await refused(["tenant", "frobnicate"], 2, /there is no command/);
  const help = await admin(["--help"], { MYSQL_URL: "" });
  assert.equal(help.code, 0);
  assert.match(help.stdout, /key create +TENANT \[--scopes SCOPES\]/);
});

test("a signing secret is made under the deployment's master key only", async () => {
  const localDir = mkdtempSync(join(tmpdir(), "access-"));
  const dataKeys = () => databases.run("SELECT tenant_id FROM data_keys");
  try {
    const own = { SECRETS_KEY_FILE: join(localDir, "deployment.key"), LOCAL_DIR: localDir };
    makeKeyFile(own.SECRETS_KEY_FILE);
    // As on every machine on which npm start has run.
    const other = join(localDir, "secrets.key");
    makeKeyFile(other);
    const rotate = (tenant: string) => ["secret", "rotate", tenant];
    await refused(rotate("other"), 1, /^which key\? Set SECRETS_KMS_KEY or/, {
      LOCAL_DIR: localDir,
    });
    assert.deepEqual(await dataKeys(), []);
    assert.equal((await admin(rotate("other"), own)).code, 0);
    assert.equal((await done("secret", "list", "other")).items.length, 1, "a list takes no key");
    const before = await dataKeys();
    const wrong = { ...own, SECRETS_KEY_FILE: other };
    await refused(rotate("acme"), 1, /secrets\.key is not the key that the secrets in/, wrong);
    assert.deepEqual(await dataKeys(), before);
    assert.equal((await admin(rotate("acme"), own)).code, 0);
  } finally {
    rmSync(localDir, { recursive: true });
  }
});

test("without a URL it is the system that runs here", async () => {
  const localDir = mkdtempSync(join(tmpdir(), "access-"));
  const supervisor = identify(process.pid, "");
  assert.ok(supervisor);
  const mysql = { url: databases.mysqlUrl, kind: "given", dir: localDir, process: null } as const;
  const rest = {
    state: "ready",
    api: "http://127.0.0.1:1",
    key: "",
    cassandra: null,
    processes: [],
  } as const;
  try {
    writeRun(localDir, { ...rest, supervisor, mysql, processes: [], restarting: [] });
    const env = { MYSQL_URL: "", LOCAL_DIR: localDir };
    assert.match((await admin(["tenant", "list"], env)).stdout, /^acme +active /m);
    makeKeyFile(join(localDir, "secrets.key"));
    await refused(["secret", "rotate", "acme"], 1, /secrets\.key is not the key that the/, env);
    // What is left of a run that was killed names a database that may be another's by now.
    const dead = { ...supervisor, startTicks: "1" };
    writeRun(localDir, { ...rest, supervisor: dead, mysql, processes: [], restarting: [] });
    await refused(["tenant", "list"], 1, /which database\?/, env);
  } finally {
    rmSync(localDir, { recursive: true });
  }
});

test("a database that is away, not named, not migrated, or not ours is one line", async () => {
  const localDir = mkdtempSync(join(tmpdir(), "access-"));
  const list = ["tenant", "list"];
  await refused(list, 1, /which database\?/, { MYSQL_URL: "", LOCAL_DIR: localDir });
  rmSync(localDir, { recursive: true });
  const away = "mysql://root:hunter2@127.0.0.1:9";
  await refused(list, 1, /^(?!.*hunter2).*ECONNREFUSED.*127\.0\.0\.1:9.*nothing was done/, {
    MYSQL_URL: away,
  });
  await refused([...list, "--mysql-url", "http://hunter2"], 1, /^(?!.*hunter2).*mysql:\/\//);
  await refused(list, 1, /run the migrations/, { DATABASE_PREFIX: "nothing_here_" });
  await refused(list, 1, /DATABASE_PREFIX/, { DATABASE_PREFIX: "x`y" });
});
