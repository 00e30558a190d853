/** The rest of the API through its typed client, over the gateway, a real MySQL, a real executor and an endpoint. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openShards } from "#adapters/mysql/shards.ts";
import { ApiProblem, eachItem, openClient } from "#client/client.ts";
import type { Api, Job } from "#client/generated/api.ts";
import { parseTaskId, parseTenantId, taskIdToBytes } from "#core/domain/ids.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { checkAnswer } from "#test/support/check-answer.ts";
import { eventually } from "#test/support/eventually.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { addTenant, type OwnGateway, startGateway } from "#test/support/own-gateway.ts";
import { openSink, type Sink } from "#test/support/sink.ts";
import { startWorker } from "#test/support/worker-process.ts";

const UP_MS = 20_000;
const CALLED_MS = 30_000;
const FAR = { type: "every", seconds: 366 * 86_400 } as const;

const history = await makeTestKeyspace();
let databases: TestDatabases;
let gateway: OwnGateway;
let sink: Sink;
let tenant: string;
let api: Api;
let other: Api;

before(async () => {
  databases = await makeTestDatabases();
  sink = await openSink();
  gateway = await startGateway(databases, history.env);
  const acme = await addTenant(databases, "acme");
  tenant = acme.tenant;
  api = clientOf(acme.key);
  other = clientOf((await addTenant(databases, "other")).key);
});

after(async () => {
  await gateway[Symbol.asyncDispose]();
  await sink.close();
  await databases.drop();
});

/** The typed client; each answer that it gets is held against the documentation. */
function clientOf(key: string): Api {
  return openClient({
    url: gateway.url,
    apiKey: key,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      const text = await response.clone().text();
      const { status, headers } = response;
      const isJson = /json/.test(headers.get("content-type") ?? "");
      const body: unknown = isJson && text !== "" ? JSON.parse(text) : undefined;
      const { pathname } = new URL(String(input));
      checkAnswer(init?.method ?? "GET", pathname, { status, headers, text, body });
      return response;
    },
  });
}

async function problemOf(call: Promise<unknown>): Promise<ApiProblem> {
  const error: unknown = await call.then(
    () => assert.fail("the call succeeded"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiProblem, String(error));
  return error;
}

function taskOf(path: string) {
  return { schedule: FAR, request: { url: `${sink.url}${path}` } };
}

/** Makes `count` jobs of one instant, dead ones, as if their attempts had been used up at that instant too. */
async function makeDeadJobs(taskId: string, count: number): Promise<void> {
  const shards = openShards(databases);
  const id = parseTaskId(taskId);
  const tenantId = parseTenantId(tenant);
  assert.ok(id !== null && tenantId !== null);
  const atMs = Date.now() - 60_000;
  const { tasks } = shards.forTask(id);
  for (let from = 0; from < count; from += 20)
    await Promise.all(
      Array.from({ length: Math.min(20, count - from) }, (_, at) =>
        tasks.runNow(tenantId, id, (task) => ({
          ...makeManualJob(task, "manual", atMs, from + at + 1, null),
          dueAtMs: atMs + 86_400_000,
        })),
      ),
    );
  await shards.close();
  const mine = `task_id = UNHEX('${Buffer.from(taskIdToBytes(id)).toString("hex")}')`;
  await databases.run(
    `INSERT INTO dead_letters (tenant_id, job_id, part, task_id, died_at) SELECT tenant_id, id, part, task_id, scheduled_at FROM jobs WHERE ${mine}`,
  );
  await databases.run(
    `UPDATE jobs SET status = 'dead', claim_no = 3, attempt = 3, finished_at = scheduled_at, reason = 'attempts used up', due_at = due_at + INTERVAL 10 DAY WHERE ${mine}`,
  );
}

describe("one tenant's API", { timeout: 240_000 }, () => {
  it("20 clients create with one Idempotency-Key at once: one task, one answer", async () => {
    const body = { ...taskOf("/ok/once"), name: "once" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.createTask({ body, idempotencyKey: "once" })),
    );
    const [first] = answers;
    assert.ok(first !== undefined);
    for (const answer of answers) assert.deepEqual([answer.status, answer.body], [201, first.body]);
    const replayed = answers.filter(({ headers }) => headers.has("idempotency-replayed"));
    assert.equal(replayed.length, 19);
    const named = [];
    for await (const task of eachItem(api.listTasks, {}))
      if (task.name === "once") named.push(task);
    assert.equal(named.length, 1);
    const reused = await problemOf(
      api.createTask({ body: { ...body, priority: "low" }, idempotencyKey: "once" }),
    );
    assert.equal(reused.status, 422);
    assert.equal(reused.problem?.errors?.[0]?.field, "Idempotency-Key");
  });

  it("10 clients make 20 tasks each under one Idempotency-Key at once: 20 tasks, one answer", async () => {
    const items = Array.from({ length: 20 }, () => ({ ...taskOf("/ok/once"), tags: ["keyed"] }));
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        api.createTasks({ body: { items }, idempotencyKey: "many" }),
      ),
    );
    const [first] = answers;
    assert.ok(first !== undefined);
    assert.ok(first.body.items.every(({ status }) => status === 201));
    for (const answer of answers) assert.deepEqual(answer.body, first.body);
    const replayed = answers.filter(({ headers }) => headers.has("idempotency-replayed"));
    assert.equal(replayed.length, 9);
    const made = [];
    for await (const { id } of eachItem(api.listTasks, { tag: "keyed" })) made.push(id);
    assert.deepEqual(made.sort(), first.body.items.map(({ task }) => task?.id).sort());
  });

  it("20 clients PUT one name at once: one makes it, nobody fails", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        api.putTask({ name: "put", body: { ...taskOf("/ok/put"), description: String(i) } }),
      ),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, 1);
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
    const { id = "" } = made[0]?.body ?? {};
    const { version } = (await api.getTask({ taskId: id })).body;
    const stale = await problemOf(
      api.putTask({ name: "put", ifMatch: `"${version - 1}"`, body: taskOf("/ok/put") }),
    );
    assert.equal(stale.status, 412);
    const exists = api.putTask({ name: "put", ifNoneMatch: "*", body: taskOf("/ok/put") });
    assert.equal((await problemOf(exists)).status, 412);
  });

  it("200 tasks at once, then all of them by tag, by pages", async () => {
    const items = Array.from({ length: 200 }, (_, i) => ({
      ...taskOf("/ok/bulk"),
      name: `bulk ${i}`,
      tags: ["bulk", i % 2 === 0 ? "even" : "odd"],
      priority: i % 4 === 0 ? ("low" as const) : ("normal" as const),
    }));
    const { body } = await api.createTasks({ body: { items } });
    assert.ok(body.items.every(({ status }) => status === 201));
    const again = await api.createTasks({ body: { items } });
    assert.ok(
      again.body.items.every(({ status, problem }) => status === 409 && problem?.status === 409),
    );
    const namesOf = async (filter: Parameters<Api["listTasks"]>[0]) => {
      const names = [];
      for await (const { name } of eachItem(api.listTasks, { ...filter, limit: 30 }))
        names.push(name);
      return names;
    };
    const newestFirst = items.map(({ name }) => name).reverse();
    assert.deepEqual(new Set(await namesOf({ tag: "bulk" })), new Set(newestFirst));
    assert.equal((await namesOf({ tag: "even" })).length, 100);
    assert.equal((await namesOf({ tag: "even", priority: "low", status: "active" })).length, 50);
    assert.equal((await namesOf({ tag: "odd", priority: "low" })).length, 0);
  });

  it("25 jobs of one instant in pages of 10: 10 + 10 + 5, by task and by death; cursors are the list's own", async () => {
    const { id: taskId } = (await api.createTask({ body: taskOf("/ok/pages") })).body;
    await makeDeadJobs(taskId, 25);
    const lists = [
      (cursor: object) => api.listTaskJobs({ taskId, limit: 10, ...cursor }),
      (cursor: object) => api.listDeadLetters({ taskId, limit: 10, ...cursor }),
      (cursor: object) => api.listTaskJobs({ taskId, status: ["dead"], limit: 10, ...cursor }),
    ];
    for (const list of lists) {
      const sizes: number[] = [];
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const { body }: { body: { items: readonly { id: string }[]; nextCursor: string | null } } =
          await list(cursor === null ? {} : { cursor });
        sizes.push(body.items.length);
        ids.push(...body.items.map(({ id }) => id));
        cursor = body.nextCursor;
      } while (cursor !== null);
      assert.deepEqual([sizes, new Set(ids).size], [[10, 10, 5], 25]);
      assert.deepEqual(ids, ids.toSorted().reverse());
    }
    const { nextCursor } = (await api.listDeadLetters({ taskId, limit: 10 })).body;
    assert.ok(nextCursor !== null);
    for (const refused of [
      api.listDeadLetters({ cursor: nextCursor }),
      api.listDeadLetters({ taskId, cursor: `${nextCursor}x` }),
      api.listDeadLetters({ taskId, cursor: "" }),
      api.listTaskJobs({ taskId, cursor: nextCursor }),
      other.listDeadLetters({ taskId, cursor: nextCursor }),
    ])
      assert.equal((await problemOf(refused)).status, 400);
  });

  it("an endpoint that answers 500, 3 attempts: 3 calls, dead, in the list; a retry calls again", async () => {
    await using executor = startWorker("executor", databases);
    const body = {
      ...taskOf("/status/500/dead"),
      retry: { maxAttempts: 3, initialDelaySeconds: 0 },
    };
    const { id: taskId } = (await api.createTask({ body })).body;
    const { id: jobId } = (await api.runTask({ taskId })).body;
    const attempts = () =>
      sink.calls().flatMap(({ key, attempt }) => (key === jobId ? [attempt] : []));
    const died = () =>
      eventually(async () => {
        assert.equal((await api.getJob({ jobId })).body.status, "dead");
      }, CALLED_MS);
    await died();
    assert.deepEqual(attempts(), [1, 2, 3]);
    const [letter] = (await api.listDeadLetters({ taskId })).body.items;
    assert.equal(letter?.id, jobId);
    assert.deepEqual(
      letter.attempts.map(({ attempt, statusCode }) => [attempt, statusCode]),
      [1, 2, 3].map((attempt) => [attempt, 500]),
    );
    // Nobody calls meanwhile: the job is not dead once more before the last of them has come.
    executor.signal("SIGSTOP");
    const retries = await Promise.all(
      Array.from({ length: 10 }, () =>
        api.retryJob({ jobId }).then(
          ({ status }) => status,
          (error: ApiProblem) => error.status,
        ),
      ),
    );
    assert.deepEqual(retries.sort(), [202, ...Array.from({ length: 9 }, () => 409)]);
    executor.signal("SIGCONT");
    await died();
    assert.deepEqual(attempts(), [1, 2, 3, 4, 5, 6]);
    assert.equal((await api.getJob({ jobId })).body.attempts.length, 6);
  });

  it("nothing of the answers is kept of a task that asks for that; cancel ends a run by hand", async () => {
    const captured = async (captureResponse: boolean): Promise<Job> => {
      const body = { ...taskOf("/big/20/kept"), captureResponse };
      const { id: taskId } = (await api.createTask({ body })).body;
      const { id: jobId } = (await api.runTask({ taskId })).body;
      let job: Job | undefined;
      await eventually(async () => {
        job = (await api.getJob({ jobId })).body;
        assert.equal(job.status, "succeeded");
      }, CALLED_MS);
      assert.ok(job !== undefined);
      return job;
    };
    const { id: taskId } = (await api.createTask({ body: taskOf("/ok/cancelled") })).body;
    const { id: jobId } = (await api.runTask({ taskId })).body;
    const cancelled = await api.cancelJob({ jobId });
    assert.deepEqual([cancelled.status, cancelled.body.status], [200, "cancelled"]);
    const again = await api.cancelJob({ jobId });
    assert.deepEqual([again.status, again.body], [200, cancelled.body]);
    await using _ = startWorker("executor", databases);
    assert.equal((await captured(true)).attempts[0]?.responseBody?.length, 20);
    assert.deepEqual(
      (await captured(false)).attempts.map(({ statusCode, responseBody }) => [
        statusCode,
        responseBody,
      ]),
      [[200, null]],
    );
    assert.ok(!sink.calls().some(({ key }) => key === jobId));
  });

  it("1,000 dead jobs are retried at 100 a second: 10 s ± 2", async () => {
    const { id: taskId } = (await api.createTask({ body: taskOf("/ok/thousand") })).body;
    await makeDeadJobs(taskId, 1_000);
    await using executor = startWorker("executor", databases);
    await executor.line('"started"', UP_MS);
    const { status, body } = await api.retryDeadLetters({ body: { taskId, perSecond: 100 } });
    assert.deepEqual([status, body], [202, { matched: 1_000, moved: 1_000, failed: 0 }]);
    const calls = () => sink.calls().filter(({ path }) => path.includes("/thousand"));
    await sink.until(() => calls().length >= 1_000, CALLED_MS);
    const arrivals = calls().map(({ arrivedAtMs }) => arrivedAtMs);
    const tookMs = Math.max(...arrivals) - Math.min(...arrivals);
    assert.equal(new Set(calls().map(({ key }) => key)).size, 1_000);
    assert.ok(tookMs > 8_000 && tookMs < 12_000, `${tookMs} ms`);
    assert.equal((await api.listDeadLetters({ taskId })).body.items.length, 0);
  });
});
