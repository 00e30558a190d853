/** Retry and cancel of one job, dead letters and their retry. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemDigest } from "#adapters/system/digest.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { historyEntryOf } from "#core/domain/history.ts";
import { parseJobId, type TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { LISTED_ROWS_MS_MAX } from "#core/domain/limits.ts";
import type { ApiAnswer } from "#test/support/api-client.ts";
import { type ApiInMemory, openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertDetail } from "#test/support/task-requests.ts";
import { writeCursor } from "../_shared/cursor.ts";

const HOURLY = {
  schedule: { type: "every", seconds: 3_600 },
  request: { url: "https://example.com/hook" },
  retry: { maxAttempts: 3 },
};

/** A task with `count` jobs that have died, a second apart; the last that died first. */
async function openWithDead(count: number) {
  const api = await openApiInMemory();
  const taskId: string = (await api.acme("POST", "/v1/tasks", HOURLY)).body.id;
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { id } = (await api.acme("POST", `/v1/tasks/${taskId}/run`)).body;
    kill(api, id);
    ids.unshift(id);
    await api.clock.advance(1_000);
  }
  return { api, taskId, ids };
}

function jobOf(api: ApiInMemory, id: string): Job {
  const key = parseJobId(id);
  const job = key === null ? undefined : api.shards.tables.jobs.get(key);
  assert.ok(job !== undefined);
  return job;
}

function kill(api: ApiInMemory, id: string): Job {
  const job = jobOf(api, id);
  const finishedAtMs = api.clock.nowMs();
  const dead: Job = {
    ...job,
    status: "dead",
    claimNo: 3,
    attempt: 3,
    finishedAtMs,
    dueAtMs: finishedAtMs + 14 * 86_400_000,
    reason: "attempts used up",
  };
  api.shards.tables.jobs.set(job.id, dead);
  return dead;
}

/** As the archiver does, whose copy is durable before the row goes. */
async function archive(api: ApiInMemory, id: string): Promise<void> {
  const job = jobOf(api, id);
  await api.history.write([historyEntryOf(job, null, systemDigest.sha256Hex)]);
  api.shards.tables.jobs.delete(job.id);
}

test("a dead job goes on under its own id, with as many attempts more", async () => {
  const { api, ids } = await openWithDead(1);
  await using _ = api;
  const answer = await api.acme("POST", `/v1/jobs/${ids[0]}/retry`);
  assert.equal(answer.status, 202);
  assert.equal(answer.headers.get("location"), `/v1/jobs/${ids[0]}`);
  const { id, status, attempt, maxAttempts, reason, finishedAt, runAt } = answer.body;
  assert.deepEqual(
    [id, status, attempt, maxAttempts, reason, finishedAt],
    [ids[0], "pending", 3, 6, null, null],
  );
  assert.equal(runAt, new Date(api.clock.nowMs()).toISOString());
  assert.equal((await api.acme("GET", "/v1/dead-letters")).body.items.length, 0);
  assertDetail(await api.acme("POST", `/v1/jobs/${ids[0]}/retry`), 409, /not dead/);
});

test("a failed test is not retried, here or archived: it is sent once", async () => {
  const { api, ids } = await openWithDead(1);
  await using _ = api;
  const [id = ""] = ids;
  api.shards.tables.jobs.set(jobOf(api, id).id, { ...jobOf(api, id), trigger: "test" });
  const retry = () => api.acme("POST", `/v1/jobs/${id}/retry`);
  assertDetail(await retry(), 409, /a test, which is sent once/);
  assert.equal(jobOf(api, id).status, "dead");
  await archive(api, id);
  assertDetail(await retry(), 409, /a test, which is sent once/);
});

test("a retry with a key is one retry", async () => {
  const { api, ids } = await openWithDead(1);
  await using _ = api;
  const headers = { "idempotency-key": "k" };
  const retry = () => api.acme("POST", `/v1/jobs/${ids[0]}/retry`, undefined, { headers });
  const first = await retry();
  kill(api, ids[0] ?? "");
  const again = await retry();
  assert.deepEqual([again.status, again.text], [202, first.text]);
  assert.equal(jobOf(api, ids[0] ?? "").status, "dead");
});

test("while the first retry with a key is in work, another is 409, and says when to ask again", async () => {
  const { api, ids } = await openWithDead(1);
  await using _ = api;
  // Nothing interleaves in memory: another transaction would hold the key's row.
  const [shard] = api.shards.all();
  assert.ok(shard !== undefined);
  shard.jobs.retryOne = async () => ({ kind: "key-in-work" });
  const headers = { "idempotency-key": "k" };
  const answer = await api.acme("POST", `/v1/jobs/${ids[0]}/retry`, undefined, { headers });
  assertDetail(answer, 409, /^the first request with this Idempotency-Key is still in work$/);
  assert.equal(answer.headers.get("retry-after"), "1");
});

test("the key of a retry answers alike after the job has succeeded and is archived, also while history is away", async () => {
  const { api, ids } = await openWithDead(1);
  await using _ = api;
  const [id = ""] = ids;
  const headers = { "idempotency-key": "k" };
  const retry = (as = api.acme, body?: object) =>
    as("POST", `/v1/jobs/${id}/retry`, body, { headers });
  const first = await retry();
  assert.equal(first.status, 202);
  const ended = { status: "succeeded", claimNo: 4, attempt: 4 } as const;
  const finishedAtMs = api.clock.nowMs();
  api.shards.tables.jobs.set(jobOf(api, id).id, { ...jobOf(api, id), ...ended, finishedAtMs });
  await archive(api, id);
  await api.clock.advance(23 * 3_600_000);
  const again = await retry();
  assert.deepEqual([again.status, again.text], [202, first.text]);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assertDetail(await retry(api.acme, {}), 422, /^Idempotency-Key: /);
  assertDetail(await retry(api.as("other")), 404, /no such job/);
  assertDetail(await retry(api.as("acme", ["read"])), 403, /scope/);
  api.history.find = async () => {
    throw new StoreUnavailable("away");
  };
  assert.equal((await retry()).text, first.text);
  await api.clock.advance(3_600_001);
  assert.equal((await retry()).status, 503, "kept for 24 h");
});

test("an archived dead job is made anew, with a link to the first", async () => {
  const { api, taskId, ids } = await openWithDead(1);
  await using _ = api;
  await archive(api, ids[0] ?? "");
  const headers = { "idempotency-key": "k" };
  const retry = () => api.acme("POST", `/v1/jobs/${ids[0]}/retry`, undefined, { headers });
  const { status, body, text } = await retry();
  assert.equal(status, 202, text);
  assert.notEqual(body.id, ids[0]);
  assert.deepEqual(
    [body.retryOf, body.taskId, body.attempt, body.maxAttempts],
    [ids[0], taskId, 0, 3],
  );
  assert.equal((await retry()).text, text);
  const { retryOf } = (await api.acme("GET", `/v1/jobs/${body.id}`)).body;
  assert.equal(retryOf, ids[0]);
  const first = (await api.acme("GET", `/v1/jobs/${ids[0]}`)).body;
  assert.deepEqual([first.status, first.retryOf], ["dead", null]);
});

test("what cannot be retried or cancelled says why", async () => {
  const { api, taskId, ids } = await openWithDead(2);
  await using _ = api;
  const [hot = "", archived = ""] = ids;
  const post = (id: string, verb: string) => api.acme("POST", `/v1/jobs/${id}/${verb}`);
  assertDetail(await post(hot, "cancel"), 409, /has finished/);
  await archive(api, archived);
  assertDetail(await post(archived, "cancel"), 409, /has finished/);
  const run = (await api.acme("POST", `/v1/tasks/${taskId}/run`)).body;
  assertDetail(await post(run.id, "retry"), 409, /not dead/);
  const none = hot.replace(/.$/, hot.endsWith("0") ? "1" : "0");
  for (const id of ["job_0", none])
    for (const verb of ["retry", "cancel"]) assertDetail(await post(id, verb), 404, /no such job/);
  for (const verb of ["retry", "cancel"])
    assert.equal((await api.as("other")("POST", `/v1/jobs/${hot}/${verb}`)).status, 404);
  await api.acme("DELETE", `/v1/tasks/${taskId}`);
  assertDetail(await post(hot, "retry"), 409, /task is deleted/);
  assertDetail(await post(archived, "retry"), 409, /task is deleted/);
});

test("an archived run by hand whose long body is gone cannot be made again as it was", async () => {
  const { api, taskId } = await openWithDead(0);
  await using _ = api;
  const long = { request: { body: "x".repeat(257) } };
  const { id } = (await api.acme("POST", `/v1/tasks/${taskId}/run`, long)).body;
  kill(api, id);
  await archive(api, id);
  assertDetail(await api.acme("POST", `/v1/jobs/${id}/retry`), 409, /has not been kept/);
});

test("cancel ends what waits at once, and marks what runs", async () => {
  const { api, taskId } = await openWithDead(0);
  await using _ = api;
  const run = async () => (await api.acme("POST", `/v1/tasks/${taskId}/run`)).body.id as string;
  const waits = await run();
  const cancelled = await api.acme("POST", `/v1/jobs/${waits}/cancel`, {});
  assert.deepEqual(
    [cancelled.status, cancelled.body.status, cancelled.body.reason],
    [200, "cancelled", "cancelled by caller"],
  );
  const repeated = await api.acme("POST", `/v1/jobs/${waits}/cancel`);
  assert.deepEqual([repeated.status, repeated.body], [200, cancelled.body]);
  const runs = jobOf(api, await run());
  api.shards.tables.jobs.set(runs.id, { ...runs, status: "running", claimNo: 1, attempt: 1 });
  const marked = await api.acme("POST", `/v1/jobs/${runs.id}/cancel`);
  assert.deepEqual(
    [marked.status, marked.body.status, marked.body.reason],
    [202, "running", "cancelled by caller"],
  );
  assert.equal(jobOf(api, runs.id).cancelReason, "cancelled by caller");
});

test("dead letters: the last that died first, by pages, by task and time", async () => {
  const { api, taskId, ids } = await openWithDead(5);
  await using _ = api;
  const list = (query = "") => api.acme("GET", `/v1/dead-letters?${query}`);
  const idsOf = ({ body }: ApiAnswer) => body.items.map(({ id }: { id: string }) => id);
  const all = await list();
  assert.deepEqual(idsOf(all), ids);
  assert.equal(all.body.items[4].diedAt, "2026-06-01T09:00:00.000Z");
  const first = await list("limit=2");
  const second = await list(`limit=3&cursor=${first.body.nextCursor}`);
  assert.deepEqual([...idsOf(first), ...idsOf(second)], ids);
  assert.equal(second.body.nextCursor, null);
  const span = "from=2026-06-01T09:00:01Z&to=2026-06-01T09:00:03Z";
  assert.deepEqual(idsOf(await list(span)), ids.slice(2, 4));
  assert.deepEqual(idsOf(await list(`taskId=${taskId}`)), ids);
  const other = (await api.acme("POST", "/v1/tasks", HOURLY)).body.id;
  assert.deepEqual(idsOf(await list(`taskId=${other}`)), []);
  const cursor = first.body.nextCursor;
  for (const query of [`${span}&cursor=${cursor}`, `cursor=x${cursor}`, "cursor="])
    assertDetail(await list(query), 400, /cursor/);
  assert.equal((await api.as("other")("GET", `/v1/dead-letters?cursor=${cursor}`)).status, 400);
  assert.equal((await api.as("other")("GET", "/v1/dead-letters")).body.items.length, 0);
  assertDetail(await list("taskId=job_1"), 422, /^taskId: /);
  assertDetail(await list("from=2026-06-01T09:00:01Z&to=2026-06-01T09:00:01Z"), 422, /^to: /);
});

test("a place in the list that nothing can have died at, in a cursor that somebody has made up, is a 400", async () => {
  const { api, ids } = await openWithDead(1);
  await using _ = api;
  const filter = { taskId: null, fromMs: null, toMs: null };
  const scope = { tenantId: "acme" as TenantId, list: "dead letters", filter };
  const list = (atMs: number) =>
    api.acme("GET", `/v1/dead-letters?cursor=${writeCursor(scope, `${atMs} ${ids[0]}`)}`);
  const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  assert.equal((await list(lastMs)).status, 200);
  for (const atMs of [lastMs + 1, 999_999_999_999_999])
    assertDetail(await list(atMs), 400, /cursor/);
});

test("a retry of all: the first that died goes first, as many a second as asked for", async () => {
  const { api, taskId, ids } = await openWithDead(5);
  await using _ = api;
  const retry = (body?: object) => api.acme("POST", "/v1/dead-letters/retry", body);
  const some = await retry({ taskId, perSecond: 2, limit: 3 });
  assert.deepEqual([some.status, some.body], [202, { matched: 3, moved: 3, failed: 0 }]);
  const nowMs = api.clock.nowMs();
  const delays = ids.slice(0, 3).map((id) => jobOf(api, id).runAtMs - nowMs);
  assert.deepEqual(delays, [1_000, 500, 0]);
  assert.deepEqual((await retry()).body, { matched: 2, moved: 2, failed: 0 });
  assert.deepEqual((await retry({})).body, { matched: 0, moved: 0, failed: 0 });
  for (const [body, field] of [
    [{ limit: 1_001 }, "limit"],
    [{ perSecond: 0 }, "perSecond"],
    [{ perSecond: 1_001 }, "perSecond"],
    [{ colour: 1 }, "colour"],
  ] as const)
    assertDetail(await retry(body), 422, new RegExp(`^${field}: `));
});

test("a retry of all that does not get past the letters of deleted tasks says from where to ask again", async () => {
  const { api, taskId, ids } = await openWithDead(2);
  await using _ = api;
  await api.acme("DELETE", `/v1/tasks/${taskId}`);
  const { jobs } = api.shards.forTenant("acme" as TenantId);
  const last = jobOf(api, ids[0] ?? "");
  const place = { diedAtMs: last.finishedAtMs ?? 0, jobId: last.id };
  jobs.findLettersDownTo = async () => {
    await api.clock.advance(LISTED_ROWS_MS_MAX);
    return place;
  };
  const answer = await api.acme("POST", "/v1/dead-letters/retry", {});
  assertDetail(answer, 422, /^to: must be 2026-06-01T09:00:01.001Z or earlier: /);
});

test("a retry of all passes over jobs whose task is gone", async () => {
  const { api, taskId } = await openWithDead(2);
  await using _ = api;
  await api.acme("DELETE", `/v1/tasks/${taskId}`);
  const { body } = await api.acme("POST", "/v1/dead-letters/retry", {});
  assert.deepEqual(body, { matched: 0, moved: 0, failed: 0 });
});

for (const { run, edit, detail } of [
  {
    run: { headers: { Authorization: "Bearer of-then" } },
    edit: { auth: { type: "bearer", token: "of-now-of-now" } },
    detail: /archived.*request\.headers\.Authorization is a secret of the task/,
  },
  {
    run: { headers: { "x-Key": "of then" } },
    edit: { secretHeaders: { "X-Key": "of-now-of-now" } },
    detail: /request\.headers\.x-Key is a secret of the task/,
  },
  {
    run: { body: "short" },
    edit: { method: "GET" },
    detail: /request\.body the task calls with GET, which carries no body/,
  },
])
  test(`what has been archived is not made anew with what /run refuses by now: ${Object.keys(edit)}`, async () => {
    const { api, taskId } = await openWithDead(0);
    await using _ = api;
    const path = `/v1/tasks/${taskId}/run`;
    const { id } = (await api.acme("POST", path, { request: run })).body;
    kill(api, id);
    await archive(api, id);
    const edited = await api.acme("PATCH", `/v1/tasks/${taskId}`, { request: edit });
    assert.equal(edited.status, 200, edited.text);
    assert.equal((await api.acme("POST", path, { request: run })).status, 422);
    assertDetail(await api.acme("POST", `/v1/jobs/${id}/retry`), 409, detail);
    assert.equal(api.shards.tables.jobs.size, 0);
  });
