/**
 * The stacks that go to AWS, deployed from nothing to LocalStack by `npm run localstack`, used through API Gateway with a key, and
 * taken out again. Workers and databases are real; what is emulated is API Gateway, Lambda, EventBridge and CloudFormation.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { isPortFree, pickPort } from "#local/hold-directory.ts";
import { openClient } from "#test/support/api-client.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { eventually } from "#test/support/eventually.ts";
import { openSink, type Sink } from "#test/support/sink.ts";
import { type OwnProcess, startProcess } from "#test/support/worker-process.ts";

const KEY = "local-dev-key";
/** From nothing: an installation, a bootstrap, a deploy. */
const UP_MS = 240_000;
/** A rule fires once a minute. */
const TICK_MS = 150_000;
const DEPLOYED_MS = 60_000;
const DESTROY_MS = 90_000;
const STOP_MS = 60_000;

const { contactPoints, keyspace, run: runCql } = await makeTestKeyspace();
const databasePrefix = `t_${randomBytes(6).toString("hex")}_`;
const localDir = mkdtempSync(join(tmpdir(), "localstack-"));
const port = await pickPort(0);
const endpoint = `http://127.0.0.1:${port}`;
const api = `${endpoint}/_aws/execute-api/by-key/live`;
const mysqlUrl = process.env.MYSQL_URL ?? "";
const env = {
  LOCAL_DIR: localDir,
  LOCALSTACK_PORT: String(port),
  // The image that Docker would fetch is not ours to test here.
  LOCALSTACK_DOCKER: "off",
  MYSQL_URL: mysqlUrl,
  CASSANDRA_CONTACT_POINTS: contactPoints,
  CASSANDRA_KEYSPACE: keyspace,
  DATABASE_PREFIX: databasePrefix,
  ARCHIVE_SUCCEEDED_AFTER_SECONDS: "2",
};
let sink: Sink;
let up: OwnProcess;
const took: string[] = [];

before(async () => {
  assert.ok(mysqlUrl, "MYSQL_URL names the server that these tests use: npm test sets it");
  sink = await openSink();
  // A file that is cut short stops what it started, and waits for that: its own end kills the rest.
  process.once("SIGTERM", async () => {
    up?.signal("SIGTERM");
    await up?.ended(STOP_MS).catch(() => {});
    process.exit(1);
  });
});
after(async () => {
  up?.signal("SIGTERM");
  await up?.ended(STOP_MS);
  await sink.close();
  const connection = await createConnection(mysqlUrl);
  for (const name of ["control", "0"])
    await connection.query(`DROP DATABASE IF EXISTS ${databasePrefix}${name}`);
  await connection.end();
  rmSync(localDir, { recursive: true, force: true });
});

describe("on LocalStack", { concurrency: false }, () => {
  const call = openClient(api, KEY);

  test("deploys from nothing, and the sample task is called", async (t) => {
    await timed("up in all", async () => {
      up = startProcess("local/localstack.ts", env, ["--quiet"]);
      await up.line("sample called", UP_MS);
    });
    // The API answers a little before its stack is complete.
    await eventually(async () => assert.equal(stepsOfDeploy().length, 4), DEPLOYED_MS);
    t.diagnostic([...stepsOfDeploy(), ...took.splice(0)].join(", "));
    const { status, body } = await call("GET", "/v1/health");
    assert.deepEqual([status, body.status], [200, "ok"]);
  });

  test("no key and a wrong key: 401; what cannot be read: 400; what is wrong: 422", async () => {
    for (const key of [null, "wrong"]) {
      const refused = await openClient(api, key)("GET", "/v1/tasks");
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get("content-type") ?? "", /application\/problem\+json/);
      assert.equal(refused.body.title, "Unauthorized");
    }
    const broken = await call("POST", "/v1/tasks", undefined, { raw: '{"name":' });
    assert.equal(broken.status, 400);
    assert.match(broken.headers.get("content-type") ?? "", /application\/problem\+json/);
    const wrong = await call("POST", "/v1/tasks", { name: "wrong" });
    assert.equal(wrong.status, 422);
    assert.deepEqual(
      wrong.body.errors.map(({ field }: { field: string }) => field),
      ["schedule", "request"],
    );
  });

  test("PUT and GET by an encoded name, and filters in the query, are read as they were meant", async () => {
    const name = "nightly digest/100% ü+";
    const task = {
      name,
      tags: ["a b+c"],
      schedule: { type: "at", at: "2099-01-01T00:00:00Z" },
      request: { url: `${sink.url}/ok/put` },
    };
    const made = await call("POST", "/v1/tasks", task);
    assert.equal(made.status, 201);
    const byName = `/v1/tasks/by-name/${encodeURIComponent(name)}`;
    const put = await call("PUT", byName, task);
    assert.deepEqual([put.status, put.body.id], [200, made.body.id]);
    const got = await call("GET", byName);
    assert.deepEqual([got.status, got.body.id], [200, made.body.id]);
    for (const tag of ["a%20b%2Bc", "a+b%2Bc"]) {
      const { body } = await call("GET", `/v1/tasks?tag=${tag}`);
      assert.deepEqual(
        body.items.map((item: { id: string }) => item.id),
        [made.body.id],
      );
    }
    assert.equal((await call("DELETE", `/v1/tasks/${made.body.id}`)).status, 204);
  });

  test("a task made through API Gateway fires; EventBridge drives the archiver; its job is in history", async (t) => {
    const at = new Date(Date.now() + 2_000).toISOString();
    const task = {
      name: "once",
      schedule: { type: "at", at },
      request: { url: `${sink.url}/ok/once`, body: "hello" },
    };
    const made = await timed("created", () => call("POST", "/v1/tasks", task));
    assert.equal(made.status, 201);
    await timed("fired", () =>
      eventually(async () => assert.equal(sink.calls().length, 1), 30_000),
    );
    const [arrived] = sink.calls();
    const id = arrived?.key ?? "";
    await timed("in history", () =>
      eventually(async () => {
        assert.equal(await countInMysql(made.body.id), 0);
      }, TICK_MS),
    );
    const rows = await runCql("SELECT job_id FROM {ks}.jobs_by_task");
    assert.ok(rows.length >= 1, "Cassandra has it");
    const listed = await call("GET", `/v1/tasks/${made.body.id}/jobs`);
    assert.deepEqual(
      listed.body.items.map((job: { id: string; status: string }) => [job.id, job.status]),
      [[id, "succeeded"]],
    );
    const job = await call("GET", `/v1/jobs/${id}`);
    assert.deepEqual([job.status, job.body.status], [200, "succeeded"]);
    t.diagnostic(took.join(", "));
  });

  test("destroy leaves nothing", async (t) => {
    assert.notEqual(await countOf("lambda"), 0, "the look itself sees what is there");
    const destroy = startProcess("local/localstack.ts", env, ["--destroy"]);
    assert.deepEqual(await destroy.ended(DESTROY_MS), { code: 0, signal: null });
    t.diagnostic(destroy.lines.join(", "));
    for (const service of Object.keys(LISTS) as (keyof typeof LISTS)[])
      assert.equal(await countOf(service), 0, service);
  });

  test("Ctrl-C stops what was started", async () => {
    const line = readFileSync(join(localDir, "run.json"), "utf8");
    assert.ok(JSON.parse(line).processes.length >= 4, "what runs is recorded");
    up.signal("SIGINT");
    assert.deepEqual(await up.ended(STOP_MS), { code: 0, signal: null });
    assert.ok(await isPortFree(port), "LocalStack has gone");
  });
});

/** Started, synthesised, bootstrapped, deployed: each with its time. */
function stepsOfDeploy(): string[] {
  const log = readFileSync(join(localDir, "log", "localstack.log"), "utf8");
  return [...log.matchAll(/^\w+ in [\d.]+ s$/gm)].map(([line]) => line);
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  took.push(`${what} in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  return result;
}

/** The task's jobs that are still in MySQL, whose ids hold the task's. */
async function countInMysql(taskId: string): Promise<number> {
  const connection = await createConnection(mysqlUrl);
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT COUNT(*) AS left_there FROM ${databasePrefix}0.jobs WHERE task_id IN (SELECT id FROM ${databasePrefix}0.tasks WHERE name = ?)`,
      ["once"],
    );
    assert.ok(taskId);
    return Number(rows[0]?.left_there);
  } finally {
    await connection.end();
  }
}

/** How each service lists what our stacks made in it. */
const LISTS = {
  lambda: { path: "/2015-03-31/functions/", target: null, list: "Functions" },
  apigateway: { path: "/restapis", target: null, list: "item" },
  events: { path: "/", target: "AWSEvents.ListRules", list: "Rules" },
  logs: { path: "/", target: "Logs_20140328.DescribeLogGroups", list: "logGroups" },
  sqs: { path: "/", target: "AmazonSQS.ListQueues", list: "QueueUrls" },
} as const;

async function countOf(service: keyof typeof LISTS): Promise<number> {
  const { path, target, list } = LISTS[service];
  const credential = `Credential=test/20260101/eu-west-1/${service}/aws4_request`;
  const response = await fetch(`${endpoint}${path}`, {
    method: target === null ? "GET" : "POST",
    headers: {
      authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host, Signature=none`,
      ...(target === null
        ? {}
        : { "x-amz-target": target, "content-type": "application/x-amz-json-1.1" }),
    },
    ...(target === null ? {} : { body: "{}" }),
  });
  const answer = (await response.json()) as Record<string, readonly unknown[] | undefined>;
  assert.equal(response.status, 200, service);
  return answer[list]?.length ?? 0;
}
