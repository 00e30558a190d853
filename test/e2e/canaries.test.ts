/**
 * Secrets planted wherever a tenant, an endpoint or a fault can put one, through gateway, scheduler, executor, archiver and a sink: none of
 * them is in any process's log, nor in any answer that is an error. What a task keeps secret is in no answer at all, not even where the
 * endpoint repeats it, and nowhere in MySQL or Cassandra.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { type ApiAnswer, type CallOptions, openClient } from "#test/support/api-client.ts";
import { Canaries } from "#test/support/canaries.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { eventually } from "#test/support/eventually.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { addTenant, type OwnGateway, startGateway } from "#test/support/own-gateway.ts";
import { type OwnProcess, startTick, startWorker } from "#test/support/worker-process.ts";

const KINDS_MIN = 15;
/** Archived a moment after its end. */
const SHORT = { ARCHIVE_SUCCEEDED_AFTER_SECONDS: "1", ARCHIVE_ENDED_AFTER_SECONDS: "1" };
/** What the executor's database refuses to keep, once the fault is there. */
const REFUSED_STATUS = 599;

const keyspace = await makeTestKeyspace();
const canaries = new Canaries();
const errors: string[] = [];
const answers: string[] = [];
const processes: OwnProcess[] = [];
/** Headers of calls that were repeated to the caller. */
const echoed: string[] = [];
let databases: TestDatabases;
let endpoint: Server;
let endpointUrl: string;
let gateway: OwnGateway;
let key: string;
/** Those that only executors may know. */
let kept: readonly string[] = [];

before(async () => {
  databases = await makeTestDatabases();
  endpoint = createServer((request, response) => {
    request.resume();
    if (request.url === "/token" || request.url === "/echo") {
      const access_token = canaries.plant("access token");
      const token = { access_token, token_type: "Bearer", expires_in: 3_600 };
      response.end(JSON.stringify(request.url === "/token" ? token : request.headers));
      if (request.url === "/echo") echoed.push(JSON.stringify(request.headers));
      return;
    }
    const status = Number(/\/status\/(\d+)/.exec(request.url ?? "")?.[1] ?? 200);
    response.writeHead(status, {
      "set-cookie": `session=${canaries.plant(`cookie answered with ${status}`)}`,
      "retry-after": canaries.plant(`malformed Retry-After with ${status}`),
      location: `http://127.0.0.1/${canaries.plant(`Location with ${status}`)}`,
    });
    response.end(`{"token":"${canaries.plant(`response body of a ${status}`)}"}`);
  });
  endpoint.listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  endpointUrl = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
  ({ key } = await addTenant(databases, "canaries"));
  const env = { ...SHORT, LOG_LEVEL: "info" };
  gateway = await startGateway(databases, { ...keyspace.env, ...env });
  processes.push(gateway.process);
  for (const kind of ["scheduler", "executor"] as const)
    processes.push(startWorker(kind, { ...databases, env }));
});

after(async () => {
  for (const process of processes) await process[Symbol.asyncDispose]();
  endpoint.close();
  endpoint.closeAllConnections();
  await databases.drop();
});

/** Calls the API, and remembers what is answered with an error. */
async function call(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
  withKey = key,
): Promise<ApiAnswer> {
  const answer = await openClient(gateway.url, withKey)(method, path, body, options);
  answers.push(answer.text);
  if (answer.status >= 400)
    errors.push(`${answer.text} ${JSON.stringify([...answer.headers.entries()])}`);
  return answer;
}

function taskTo(url: string, request: object = {}): object {
  return {
    schedule: { type: "at", at: new Date().toISOString() },
    request: { url, ...request },
    retry: { maxAttempts: 1 },
  };
}

async function create(task: object): Promise<string> {
  const answer = await call("POST", "/v1/tasks", task);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

async function jobOf(taskId: string): Promise<ApiAnswer["body"]> {
  const { body } = await call("GET", `/v1/tasks/${taskId}/jobs`);
  return body.items[0];
}

async function ended(taskId: string, status: "succeeded" | "dead"): Promise<void> {
  await eventually(async () => assert.equal((await jobOf(taskId))?.status, status));
}

/** Every row of both stores, binary cells by their bytes. */
async function allRows(): Promise<string[]> {
  const { run, databasePrefix } = databases;
  const tables = await run(
    `SELECT CONCAT(table_schema, '.', table_name) AS name FROM information_schema.tables WHERE table_schema LIKE '${databasePrefix.replaceAll("_", "\\_")}%'`,
  );
  const rows: object[] = await keyspace.run("SELECT * FROM {ks}.jobs_by_task");
  assert.ok(rows.length > 0, "something is archived");
  for (const { name } of tables) rows.push(...(await run(`SELECT * FROM ${name}`)));
  return rows.map((row) =>
    Object.values(row)
      .map((cell) => (Buffer.isBuffer(cell) ? cell.toString("latin1") : JSON.stringify(cell)))
      .join(" "),
  );
}

function logged(text: string): boolean {
  return processes.some(({ lines }) => lines.some((line) => line.includes(text)));
}

describe("planted secrets", { timeout: 90_000 }, () => {
  it("in tasks that are called, with success, with failure, and not at all", async () => {
    const planted = {
      headers: {
        "X-aPi-KEY": canaries.plant("header in odd case"),
        Authorization: `Bearer ${canaries.plant("authorization")}`,
        cookie: `session=${canaries.plant("cookie")}`,
        "x-basic": Buffer.from(`user:${canaries.plant("basic pair")}`).toString("base64"),
      },
      body: JSON.stringify({ a: [{ b: { password: canaries.plant("nested body") } }] }),
    };
    const query = `?token=${canaries.plant("URL query")}`;
    const path = canaries.plant("URL path");
    const binary = Buffer.from(`\0\u0001${canaries.plant("binary body")}`).toString("base64");
    const named = {
      name: canaries.plant("name"),
      description: canaries.plant("description"),
      tags: [canaries.plant("tag")],
    };
    const succeeding = await create({
      ...taskTo(`${endpointUrl}/status/200/${path}${query}`, planted),
      ...named,
    });
    const failing = await create(taskTo(`${endpointUrl}/status/500/${path}${query}`, planted));
    const binarily = await create(
      taskTo(`${endpointUrl}/status/302${query}`, { bodyBase64: binary }),
    );
    const refused = await create(taskTo(`http://10.0.0.1/${path}${query}`, planted));
    const unanswered = await create(taskTo(`http://127.0.0.1:1/${path}${query}`, planted));
    await ended(succeeding, "succeeded");
    for (const id of [failing, binarily, refused, unanswered]) await ended(id, "dead");
    const over = { request: { body: canaries.plant("body laid over"), headers: planted.headers } };
    const run = await call("POST", `/v1/tasks/${succeeding}/run`, over);
    assert.equal(run.status, 202, run.text);
    const tested = await call("POST", `/v1/tasks/${failing}/test`);
    assert.partialDeepStrictEqual(tested.body, { status: "dead", statusCode: 500 });
    assert.ok(tested.body.timings.totalMs >= tested.body.timings.firstByteMs);
    await eventually(async () => assert.ok(logged("destination not allowed")));
  });

  it("in what a task keeps secret, which only its endpoint gets", async () => {
    const from = canaries.kinds.length;
    const rotated = await call("POST", "/v1/signing-secret/rotate");
    assert.equal(rotated.status, 200, rotated.text);
    // Shown once, in this answer.
    answers.pop();
    const [signing = ""] = /whsec_[\w+/=-]+/.exec(rotated.text) ?? [];
    assert.ok(signing.length > 20, "a signing secret was answered");
    canaries.adopt("signing secret", signing.replace("whsec_", ""));
    const url = `${endpointUrl}/echo`;
    const clientSecret = canaries.plant("client secret");
    const requests = [
      { secretHeaders: { "X-aPi-KEY": canaries.plant("secret header") } },
      { auth: { type: "bearer", token: canaries.plant("bearer token") } },
      { auth: { type: "basic", username: "u", password: canaries.plant("password") } },
      {
        auth: { type: "oauth2", tokenUrl: `${endpointUrl}/token`, clientId: "c", clientSecret },
      },
    ];
    const tasks = await Promise.all(requests.map((request) => create(taskTo(url, request))));
    for (const id of tasks) await ended(id, "succeeded");
    kept = canaries.kinds.slice(from);
    const arrived = new Set(echoed.flatMap((headers) => canaries.foundIn(headers, kept)));
    const sent = kept.filter((kind) => kind !== "client secret" && kind !== "signing secret");
    assert.deepEqual([...arrived].sort(), [...sent].sort(), "the endpoint did get them");
    for (const id of tasks) {
      const job = await jobOf(id);
      assert.match(job.attempts[0].responseBody, /\[secret\]|^\{/);
      await call("GET", `/v1/tasks/${id}`);
      await call("GET", `/v1/jobs/${job.id}`);
      await call("POST", `/v1/tasks/${id}/test`);
      const clash = { request: { headers: { authorization: "x" }, ...requests[1] } };
      assert.equal((await call("PATCH", `/v1/tasks/${id}`, clash)).status, 422);
    }
    await call("GET", "/v1/signing-secret");
  });

  it("in requests that are refused", async () => {
    const post = (body: unknown, options?: CallOptions) =>
      call("POST", "/v1/tasks", body, options).then(({ status }) => status);
    const url = (text: string) => post(taskTo(text));
    const userinfo = canaries.plant("URL userinfo");
    assert.equal(await url(`https://user:${userinfo}@example.com/`), 422);
    assert.equal(await url(`http://${canaries.plant("invalid URL")}:99999/`), 422);
    assert.equal(await url(`ftp://example.com/${canaries.plant("URL of another scheme")}`), 422);
    const raw = `{"request":{"body":"${canaries.plant("JSON parse error")}"`;
    assert.equal(await post(undefined, { raw }), 400);
    const badHeader = `${canaries.plant("header with a line break")}\n`;
    const headers = { "x-secret": badHeader };
    assert.equal(await post(taskTo("https://example.com/", { headers })), 422);
    const bodies = { body: canaries.plant("two bodies"), bodyBase64: "eA==" };
    assert.equal(await post(taskTo("https://example.com/", bodies)), 422);
    const bodyBase64 = `%${canaries.plant("no base64")}`;
    assert.equal(await post(taskTo("https://example.com/", { bodyBase64 })), 422);
    const unknown = { ...taskTo("https://example.com/"), secret: canaries.plant("unknown field") };
    assert.equal(await post(unknown), 422);
    const idempotent = (value: string, task: object) =>
      post(task, { headers: { "idempotency-key": value } });
    const used = canaries.plant("idempotency key");
    assert.equal(await idempotent(used, taskTo(`${endpointUrl}/status/200`)), 201);
    assert.equal(await idempotent(used, taskTo(`${endpointUrl}/status/201`)), 422);
    const long = canaries.plant("idempotency key that is too long");
    assert.equal(await idempotent(long.repeat(20), taskTo("https://example.com/")), 422);
    const wrongKey = canaries.plant("wrong API key");
    assert.equal((await call("GET", "/v1/tasks", undefined, {}, wrongKey)).status, 401);
    const cursor = canaries.plant("cursor");
    assert.equal((await call("GET", `/v1/tasks?cursor=${cursor}`)).status, 400);
    const parameter = canaries.plant("value of an unknown parameter");
    assert.equal((await call("GET", `/v1/tasks?token=${parameter}`)).status, 422);
    const id = canaries.plant("id that is none");
    assert.equal((await call("GET", `/v1/tasks/${id}`)).status, 404);
    const ifMatch = { headers: { "if-match": `"${canaries.plant("If-Match")}"` } };
    const there = await create(taskTo(`${endpointUrl}/status/200`));
    assert.equal((await call("PATCH", `/v1/tasks/${there}`, { tags: [] }, ifMatch)).status, 412);
  });

  it("in statements that the database refuses, of the gateway and of the executor", async () => {
    const { run } = databases;
    await run("ALTER TABLE task_versions RENAME COLUMN retry TO retry_away");
    try {
      const body = canaries.plant("driver error with SQL");
      const answer = await call(
        "POST",
        "/v1/tasks",
        taskTo(`${endpointUrl}/status/200`, { body, headers: { "x-a": body } }),
      );
      assert.equal(answer.status, 500, answer.text);
    } finally {
      await run("ALTER TABLE task_versions RENAME COLUMN retry_away TO retry");
    }
    assert.ok(logged("request not served"));
    await run(
      `ALTER TABLE jobs ADD CONSTRAINT refuses CHECK (attempts IS NULL OR attempts->'$."1".statusCode' <> ${REFUSED_STATUS})`,
    );
    await create(taskTo(`${endpointUrl}/status/${REFUSED_STATUS}`));
    await eventually(async () => assert.ok(logged("result refused by the database")));
    await run("ALTER TABLE jobs DROP CHECK refuses");
  });

  it("in jobs that are archived", async () => {
    processes.push(
      startTick("archiver", { ...databases, env: { ...keyspace.env, LOG_LEVEL: "info" } }),
    );
    await eventually(async () => assert.ok(logged("finished jobs moved to history")));
  });

  it("that a task keeps are nowhere in MySQL or Cassandra, nor in any answer", async () => {
    assert.ok(kept.length >= 6, `${kept}`);
    const rows = await allRows();
    assert.ok(rows.length > 20, `${rows.length} rows`);
    assert.deepEqual(canaries.foundIn(rows.join("\n"), kept), []);
    assert.ok(canaries.foundIn(rows.join("\n")).includes("nested body"), "the search finds");
    for (const answer of answers) assert.deepEqual(canaries.foundIn(answer, kept), [], answer);
  });

  it("are in no log and in no error, whatever their form", () => {
    const { kinds } = canaries;
    assert.ok(new Set(kinds).size >= KINDS_MIN, `${kinds}`);
    assert.deepEqual(canaries.foundIn(Buffer.from(canaries.plant("found")).toString("hex")), [
      "found",
    ]);
    const log = processes.flatMap(({ lines }) => lines).join("\n");
    assert.deepEqual(canaries.foundIn(log), [], log);
    assert.ok(errors.length >= 15, `${errors.length} errors`);
    for (const error of errors) assert.deepEqual(canaries.foundIn(error), [], error);
  });
});
