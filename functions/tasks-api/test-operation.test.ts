/** The test call as the API answers it; what executors do to the job is written into its row by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { type ApiInMemory, openApiInMemory } from "#test/support/api-in-memory.ts";
import { eventually } from "#test/support/eventually.ts";
import { settle } from "#test/support/manual-clock.ts";

const TASK = {
  schedule: { type: "cron", expression: "0 9 * * *", timezone: "UTC" },
  request: { url: "https://example.com/hook", body: "{}" },
};

async function created(api: ApiInMemory, fields: object = {}) {
  const answer = await api.acme("POST", "/v1/tasks", { ...TASK, ...fields });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

/** The job of the test that is under way. */
async function jobUnderWay(api: ApiInMemory): Promise<Job> {
  let found: Job | undefined;
  await eventually(async () => {
    found = [...api.shards.tables.jobs.values()].find(({ status }) => status === "pending");
    assert.ok(found);
  }, 5_000);
  assert.ok(found);
  return found;
}

/** Moves time until the answer is there. */
async function passing<T>(api: ApiInMemory, answer: Promise<T>, stepMs = 100): Promise<T> {
  let isOver = false;
  const over = answer.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await api.clock.advance(stepMs);
    await settle();
  }
  return over;
}

function end(api: ApiInMemory, job: Job, changes: Partial<Job>): void {
  api.shards.tables.jobs.set(job.id, {
    ...job,
    ...{ claimNo: 1, attempt: 1, finishedAtMs: api.clock.nowMs() },
    ...changes,
  });
}

test("the answer tells what came of the call; the schedule has not moved", async () => {
  await using api = await openApiInMemory();
  const before = await created(api, { retry: { maxAttempts: 4 } });
  const testing = api.acme("POST", `/v1/tasks/${before.id}/test`);
  const job = await jobUnderWay(api);
  assert.partialDeepStrictEqual(job, { trigger: "test", maxAttempts: 1, taskVersion: 1 });
  const startedAtMs = api.clock.nowMs();
  const record = {
    ...{ attempt: 1, claimedAtMs: startedAtMs - 3, startedAtMs, lagMs: 3, durationMs: 81 },
    ...{ statusCode: 500, error: null, responseBody: "no" },
    timings: [0.7, 12.4, null, 60, 80.9] as const,
  };
  end(api, job, { status: "dead", reason: "attempts used up", attempts: { 1: record } });
  const answer = await passing(api, testing);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get("location"), `/v1/jobs/${job.id}`);
  const { job: shown, ...outcome } = answer.body;
  assert.deepEqual(outcome, {
    status: "dead",
    reason: "attempts used up",
    statusCode: 500,
    error: null,
    durationMs: 81,
    timings: { dnsMs: 0.7, connectMs: 12.4, tlsMs: null, firstByteMs: 60, totalMs: 80.9 },
    responseBody: "no",
  });
  assert.partialDeepStrictEqual(shown, { id: job.id, trigger: "test", attempt: 1 });
  assert.deepEqual((await api.acme("GET", `/v1/tasks/${before.id}`)).body, before);
  const letters = await api.acme("GET", "/v1/dead-letters");
  assert.deepEqual(letters.body.items, [], "a failed test is nobody's dead letter");
});

test("paused and completed tasks are tested too; what is not sent has no outcome", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api);
  await api.acme("POST", `/v1/tasks/${id}/pause`);
  const testing = api.acme("POST", `/v1/tasks/${id}/test`, {});
  const job = await jobUnderWay(api);
  end(api, job, { status: "cancelled", claimNo: 0, attempt: 0, reason: "cancelled by caller" });
  const { status, body } = await passing(api, testing);
  assert.equal(status, 200);
  assert.partialDeepStrictEqual(body, {
    status: "cancelled",
    reason: "cancelled by caller",
    statusCode: null,
    timings: null,
    durationMs: null,
  });
  assert.equal((await api.acme("GET", `/v1/tasks/${id}`)).body.status, "paused");
});

test("a call that is not over after 25 s: 202 with its job, which goes on", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api, { timeoutSeconds: 900 });
  const startMs = api.clock.monotonicMs();
  const testing = api.acme("POST", `/v1/tasks/${id}/test`);
  const job = await jobUnderWay(api);
  end(api, job, { status: "running", finishedAtMs: null });
  const answer = await passing(api, testing, 250);
  assert.equal(answer.status, 202, answer.text);
  assert.partialDeepStrictEqual(answer.body, { id: job.id, status: "running", attempt: 1 });
  const tookMs = api.clock.monotonicMs() - startMs;
  assert.ok(tookMs >= 25_000 && tookMs < 27_000, `${tookMs} ms`);
  const found = api.shards.tables.jobs.get(job.id);
  assert.equal(found?.status, "running");
});

test("ten a minute for a tenant, whatever the task; the eleventh is told how long to wait", async () => {
  await using api = await openApiInMemory();
  const tasks = [await created(api), await created(api)];
  const testOnce = async (at: number) => {
    const testing = api.acme("POST", `/v1/tasks/${tasks[at % 2].id}/test`);
    end(api, await jobUnderWay(api), { status: "succeeded" });
    return passing(api, testing);
  };
  const firstAtMs = api.clock.nowMs();
  for (let at = 0; at < 10; at++) assert.equal((await testOnce(at)).status, 200);
  const refused = await api.acme("POST", `/v1/tasks/${tasks[0].id}/test`);
  assert.equal(refused.status, 429, refused.text);
  const leftMs = firstAtMs + 60_000 - api.clock.nowMs();
  assert.equal(refused.headers.get("retry-after"), String(Math.ceil(leftMs / 1_000)));
  await api.clock.advance(leftMs - 1);
  assert.equal((await api.acme("POST", `/v1/tasks/${tasks[0].id}/test`)).status, 429);
  await api.clock.advance(1);
  assert.equal((await testOnce(0)).status, 200);
});

test("nobody looks any more once the caller has gone", async () => {
  let looks = 0;
  await using api = await openApiInMemory({
    beforeCommit: async (verb) => {
      if (verb === "find") looks++;
    },
  });
  const { id } = await created(api);
  const gone = new AbortController();
  const testing = fetch(`${api.url}/v1/tasks/${id}/test`, {
    method: "POST",
    headers: { "x-api-key": "acme-read-write-admin" },
    signal: gone.signal,
  });
  const job = await jobUnderWay(api);
  gone.abort();
  await assert.rejects(testing, { name: "AbortError" });
  await eventually(async () => {
    const before = looks;
    await api.clock.advance(5_000);
    assert.equal(looks, before);
  });
  assert.ok(api.clock.monotonicMs() < 25_000);
  assert.equal(
    api.shards.tables.jobs.get(job.id)?.status,
    "pending",
    "its call is made all the same",
  );
});

test("another tenant's task, a body, a key that may only read", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api);
  const path = `/v1/tasks/${id}/test`;
  assert.equal((await api.as("other")("POST", path)).status, 404);
  assert.equal((await api.as("acme", ["read"])("POST", path)).status, 403);
  assert.equal((await api.acme("POST", path, { request: { body: "x" } })).status, 422);
  assert.equal((await api.acme("POST", `${path}?wait=1`)).status, 422);
  assert.equal(parseJobId([...api.shards.tables.jobs.keys()][0] ?? ""), null, "nothing was made");
});
