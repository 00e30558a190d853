/** What a tenant is promised about edits, pauses and deletes, seen from the endpoint: gateway, scheduler and two executors as processes. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { createConnection } from "mysql2/promise";
import { controlDatabase } from "#adapters/mysql/database-names.ts";
import { type ApiClient, openClient } from "#test/support/api-client.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { eventually } from "#test/support/eventually.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { openSink, type Sink } from "#test/support/sink.ts";
import { type OwnProcess, startProcess, startWorker } from "#test/support/worker-process.ts";

const UP_MS = 20_000;
const CALLED_MS = 20_000;
/** No call starts later than this after the answer to a pause or a delete. */
const REVOKED_MS = 3_000;

const history = await makeTestKeyspace();
let databases: TestDatabases;
let sink: Sink;
let processes: OwnProcess[];
let api: ApiClient;

before(async () => {
  databases = await makeTestDatabases();
  sink = await openSink();
  const key = `key-${randomBytes(8).toString("hex")}`;
  await addKey(key);
  const env = {
    MYSQL_URL: databases.mysqlUrl,
    DATABASE_PREFIX: databases.databasePrefix,
    ...history.env,
  };
  const gateway = startProcess("local/gateway.ts", { ...env, API_PORT: "0", LOG_LEVEL: "silent" });
  processes = [
    gateway,
    startWorker("scheduler", databases),
    startWorker("executor", databases),
    startWorker("executor", databases),
  ];
  const [line] = await Promise.all([
    gateway.line("gateway listening on", UP_MS),
    ...processes.slice(1).map((worker) => worker.line('"started"', UP_MS)),
  ]);
  assert(line !== undefined);
  api = openClient(line.replace(/^.* on /, ""), key);
});

after(async () => {
  for (const process of processes) await process[Symbol.asyncDispose]();
  await sink.close();
  await databases.drop();
});

async function addKey(key: string): Promise<void> {
  const database = controlDatabase(databases.databasePrefix);
  const connection = await createConnection({ uri: databases.mysqlUrl, database });
  await connection.query(
    "INSERT INTO tenants (id, name, created_at) VALUES ('life', 'life', UTC_TIMESTAMP(3))",
  );
  await connection.query(
    "INSERT INTO api_keys (key_hash, tenant_id, scopes, created_at) VALUES (?, 'life', ?, UTC_TIMESTAMP(3))",
    [createHash("sha256").update(key).digest(), JSON.stringify(["read", "write"])],
  );
  await connection.end();
}

interface TaskBody {
  readonly path: string;
  readonly name?: string;
  readonly schedule?: object;
  readonly more?: object;
}

async function create(body: TaskBody): Promise<string> {
  return (await createWhole(body)).id;
}

/** As it is answered. */
async function createWhole({ path, name, schedule, more }: TaskBody) {
  return act("POST", "/v1/tasks", 201, {
    ...(name === undefined ? {} : { name }),
    schedule: schedule ?? inMs(4_000),
    request: { url: sink.url + path },
    ...more,
  });
}

function inMs(ms: number): object {
  return { type: "at", at: new Date(Date.now() + ms).toISOString() };
}

function everySeconds(seconds: number): object {
  return { type: "every", seconds };
}

function callsTo(path: string) {
  return sink.calls().filter((call) => call.path === path);
}

async function act(method: string, path: string, status: number, body?: unknown) {
  const answer = await api(method, path, body);
  assert.equal(answer.status, status, answer.text);
  return answer.body;
}

async function jobsOf(task: string) {
  return (await act("GET", `/v1/tasks/${task}/jobs?limit=200`, 200)).items;
}

function passed(ms: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, ms));
}

describe("a task's life", { concurrency: 20, timeout: 120_000 }, () => {
  it("is called once, at its instant, with the attempts recorded", async () => {
    const task = await create({ path: "/ok/once" });
    await sink.until(() => callsTo("/ok/once").length > 0, CALLED_MS);
    const [call] = callsTo("/ok/once");
    assert(call !== undefined);
    const lateMs = call.arrivedAtMs - Date.parse(call.scheduledAt);
    // Early is never right; how late depends on what else the machine does.
    assert.ok(lateMs >= 0 && lateMs < 3_000, `${lateMs} ms late`);
    await eventually(async () => {
      const [job, ...others] = await jobsOf(task);
      assert.equal(others.length, 0);
      assert.partialDeepStrictEqual(job, { id: call.key, status: "succeeded", attempt: 1 });
      assert.partialDeepStrictEqual(job.attempts[0], { attempt: 1, statusCode: 200, error: null });
    });
    assert.equal(callsTo("/ok/once").length, 1);
    assert.equal((await act("GET", `/v1/tasks/${task}`, 200)).status, "completed");
  });

  it("an edit of the URL leaves the job that exists alone: it calls the old one, the next job the new one", async () => {
    const { id: task, nextRunAt } = await createWhole({
      path: "/ok/old-url",
      schedule: everySeconds(40),
    });
    // Planned inside the frozen 30 s: made before the edit.
    for (let i = 0; i < 600 && (await jobsOf(task)).length === 0; i++) await passed(100);
    const [job] = await jobsOf(task);
    assert.equal(job.scheduledAt, nextRunAt);
    await act("PATCH", `/v1/tasks/${task}`, 200, { request: { url: `${sink.url}/ok/new-url` } });
    await sink.until(() => callsTo("/ok/new-url").length > 0, 95_000);
    assert.deepEqual(
      callsTo("/ok/old-url").map(({ key }) => key),
      [job.id],
    );
    assert.notEqual(callsTo("/ok/new-url")[0]?.key, job.id);
    await act("DELETE", `/v1/tasks/${task}`, 204);
  });

  for (const [verb, method, suffix] of [
    ["pause", "POST", "/pause"],
    ["delete", "DELETE", ""],
  ] as const)
    it(`${verb}: no call starts later than ${REVOKED_MS} ms after the answer, neither from a timer nor from a retry`, async () => {
      const ticking = await create({ path: `/ok/${verb}-ticking`, schedule: everySeconds(1) });
      const retrying = await create({
        path: `/status/500/${verb}-retrying`,
        schedule: everySeconds(5),
        more: { retry: { maxAttempts: 20, initialDelaySeconds: 1, factor: 1, jitter: 0 } },
      });
      const paths = [`/ok/${verb}-ticking`, `/status/500/${verb}-retrying`];
      await sink.until(
        () =>
          callsTo(`/ok/${verb}-ticking`).length >= 3 &&
          callsTo(`/status/500/${verb}-retrying`).some(({ attempt }) => attempt >= 3),
        CALLED_MS,
      );
      for (const task of [ticking, retrying])
        await act(method, `/v1/tasks/${task}${suffix}`, verb === "pause" ? 200 : 204);
      const answeredMs = Date.now();
      await passed(REVOKED_MS + 4_000);
      for (const path of paths) {
        const late = callsTo(path).filter((call) => call.arrivedAtMs > answeredMs + REVOKED_MS);
        assert.equal(late.length, 0, `${path}: ${late.length} calls after ${REVOKED_MS} ms`);
      }
      const jobs = [...(await jobsOf(ticking)), ...(await jobsOf(retrying))];
      const reasons = new Set(
        jobs
          .filter((job: { status: string }) => job.status === "cancelled")
          .map((job: { reason: string }) => job.reason),
      );
      assert.deepEqual(reasons, new Set([verb === "pause" ? "task paused" : "task deleted"]));
      assert.ok(
        jobs.every((job: { status: string }) => ["succeeded", "cancelled"].includes(job.status)),
      );
    });

  it("pause and resume before the due time, or an edit that keeps it: exactly one call", async () => {
    const schedule = { type: "cron", expression: soonDaily(15), timezone: "UTC" };
    const paused = await create({ path: "/ok/resumed", schedule });
    const edited = await create({ path: "/ok/edited", schedule });
    const once = await create({ path: "/ok/once-resumed", schedule: inMs(14_000) });
    await passed(2_500);
    for (const task of [paused, once]) await act("POST", `/v1/tasks/${task}/pause`, 200);
    await act("PATCH", `/v1/tasks/${edited}`, 200, { description: "kept", schedule });
    await passed(2_500);
    for (const task of [paused, once]) await act("POST", `/v1/tasks/${task}/resume`, 200);
    await act("PATCH", `/v1/tasks/${edited}`, 200, { timeoutSeconds: 20 });
    const paths = ["/ok/resumed", "/ok/edited", "/ok/once-resumed"];
    await sink.until(() => paths.every((path) => callsTo(path).length > 0), 40_000);
    await passed(4_000);
    for (const path of paths) assert.equal(callsTo(path).length, 1, path);
  });

  it("resume fires nothing that passed while paused: one cancelled job says what did", async () => {
    const task = await create({ path: "/ok/passed", schedule: everySeconds(2) });
    await sink.until(() => callsTo("/ok/passed").length >= 1, CALLED_MS);
    await act("POST", `/v1/tasks/${task}/pause`, 200);
    // Longer than the horizon, so that runs pass which were never made.
    await passed(36_000);
    const resumedMs = Date.now();
    const before = callsTo("/ok/passed").length;
    await act("POST", `/v1/tasks/${task}/resume`, 200);
    await sink.until(() => callsTo("/ok/passed").length > before, CALLED_MS);
    for (const call of callsTo("/ok/passed").slice(before))
      assert.ok(Date.parse(call.scheduledAt) > resumedMs - 1_000, `${call.scheduledAt} passed`);
    const jobs = await jobsOf(task);
    const covering = jobs.filter((job: { missed: object | null }) => job.missed !== null);
    assert.equal(covering.length, 1);
    assert.partialDeepStrictEqual(covering[0], { status: "cancelled", reason: "task paused" });
    await act("DELETE", `/v1/tasks/${task}`, 204);
  });

  it("deleted and made again under its name: the new one fires, the old one is readable and silent", async () => {
    const name = `again-${randomBytes(4).toString("hex")}`;
    const schedule = inMs(6_000);
    const old = await create({ path: "/ok/first-life", name, schedule });
    await passed(1_500);
    await act("DELETE", `/v1/tasks/${old}`, 204);
    const fresh = await create({ path: "/ok/second-life", name, schedule });
    assert.notEqual(fresh, old);
    await sink.until(() => callsTo("/ok/second-life").length > 0, CALLED_MS);
    await passed(3_500);
    assert.equal(callsTo("/ok/second-life").length, 1);
    assert.equal(callsTo("/ok/first-life").length, 0);
    assert.equal((await api("GET", `/v1/tasks/${old}`)).status, 404);
    assert.partialDeepStrictEqual((await jobsOf(old))[0], {
      status: "cancelled",
      reason: "task deleted",
    });
  });

  it("a task for 30 days ahead makes no early job and no early call; /run makes one now", async () => {
    const task = await create({ path: "/ok/far", schedule: inMs(30 * 86_400_000) });
    await passed(3_000);
    assert.equal(callsTo("/ok/far").length, 0);
    assert.deepEqual(await jobsOf(task), []);
    const askedMs = Date.now();
    const job = await act("POST", `/v1/tasks/${task}/run`, 202, {});
    await sink.until(() => callsTo("/ok/far").length > 0, CALLED_MS);
    const [call] = callsTo("/ok/far");
    assert.equal(call?.key, job.id);
    assert.ok((call?.arrivedAtMs ?? 0) - askedMs < 3_000);
    assert.equal((await act("GET", `/v1/tasks/${task}`, 200)).status, "active");
  });

  it("failures are numbered attempts under one key, and end dead with the reason", async () => {
    const task = await create({
      path: "/status/500/dead",
      schedule: inMs(0),
      more: { retry: { maxAttempts: 3, initialDelaySeconds: 1, factor: 1, jitter: 0 } },
    });
    await sink.until(() => callsTo("/status/500/dead").length >= 3, CALLED_MS);
    await passed(2_500);
    const calls = callsTo("/status/500/dead");
    assert.deepEqual(
      calls.map(({ attempt }) => attempt),
      [1, 2, 3],
    );
    assert.equal(new Set(calls.map(({ key }) => key)).size, 1);
    await eventually(async () => {
      const [job] = await jobsOf(task);
      const dead = { status: "dead", reason: "attempts used up", attempt: 3 };
      assert.partialDeepStrictEqual(job, dead);
      assert.equal(job.attempts.length, 3);
    });
  });
});

/** A daily cron, to the second, whose next run is about `seconds` ahead. */
function soonDaily(seconds: number): string {
  const at = new Date(Date.now() + seconds * 1_000);
  return `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
}
