import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJobId } from "#core/domain/ids.ts";
import type { AttemptRecord, Job } from "#core/domain/job.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";

const EVERY_MINUTE = {
  schedule: { type: "every", seconds: 60 },
  request: { url: "https://example.com/hook", body: "é" },
};

async function openWithJobs(count: number) {
  const api = await openApiInMemory();
  const { id } = (await api.acme("POST", "/v1/tasks", EVERY_MINUTE)).body;
  const jobIds: string[] = [];
  for (let i = 0; i < count; i++) {
    jobIds.push((await api.acme("POST", `/v1/tasks/${id}/run`)).body.id);
    await api.clock.advance(i % 2);
  }
  const change = (jobId: string, changes: Partial<Job>) => {
    const key = parseJobId(jobId);
    const job = key === null ? undefined : api.shards.tables.jobs.get(key);
    assert(key !== null && job !== undefined);
    api.shards.tables.jobs.set(key, { ...job, ...changes });
  };
  return { api, id, jobIds: jobIds.sort().reverse(), change };
}

const record: Omit<AttemptRecord, "attempt"> = {
  claimedAtMs: Date.UTC(2026, 5, 1, 8, 59, 59, 131),
  startedAtMs: Date.UTC(2026, 5, 1, 9, 0, 0, 4),
  lagMs: 4,
  durationMs: 81,
  statusCode: 500,
  error: null,
  responseBody: "no",
  timings: [0.7, 12.4, null, 60, 80.9],
};

test("a job shows its attempts in the order of their claims", async () => {
  const { api, jobIds, change } = await openWithJobs(1);
  await using _ = api;
  const { claimedAtMs: _claimedAtMs, timings: _timings, ...unsent } = record;
  const attempts = {
    10: { ...record, attempt: 3 },
    2: { ...record, attempt: 1 },
    9: { ...unsent, attempt: 2 },
  };
  change(jobIds[0] ?? "", { status: "dead", attempts, attempt: 3, reason: "attempts used up" });
  const { body } = await api.acme("GET", `/v1/jobs/${jobIds[0]}`);
  assert.deepEqual(
    body.attempts.map(({ attempt }: { attempt: number }) => attempt),
    [1, 2, 3],
  );
  assert.deepEqual(body.attempts[0], {
    attempt: 1,
    claimedAt: "2026-06-01T08:59:59.131Z",
    startedAt: "2026-06-01T09:00:00.004Z",
    lagMs: 4,
    durationMs: 81,
    timings: { dnsMs: 0.7, connectMs: 12.4, tlsMs: null, firstByteMs: 60, totalMs: 80.9 },
    statusCode: 500,
    error: null,
    responseBody: "no",
  });
  assert.partialDeepStrictEqual(body.attempts[1], { claimedAt: null, timings: null });
  assert.equal(body.reason, "attempts used up");
});

test("a job claimed ahead of its time is pending, in the filter too", async () => {
  const { api, id, jobIds, change } = await openWithJobs(1);
  await using _ = api;
  const runAtMs = api.clock.nowMs() + 500;
  change(jobIds[0] ?? "", { status: "running", attempt: 1, claimNo: 1, runAtMs });
  const read = async () => (await api.acme("GET", `/v1/jobs/${jobIds[0]}`)).body;
  const listed = async (status: string) =>
    (await api.acme("GET", `/v1/tasks/${id}/jobs?status=${status}`)).body.items.length;
  assert.deepEqual([(await read()).status, (await read()).attempt], ["pending", 0]);
  assert.deepEqual([await listed("pending"), await listed("running")], [1, 0]);
  await api.clock.advance(500);
  assert.deepEqual([(await read()).status, (await read()).attempt], ["running", 1]);
  assert.deepEqual([await listed("pending"), await listed("running")], [0, 1]);
});

test("a job keeps the request it was made from", async () => {
  const { api, id, jobIds } = await openWithJobs(1);
  await using _ = api;
  await api.acme("PATCH", `/v1/tasks/${id}`, { request: { url: "https://new.example/" } });
  const { body } = await api.acme("GET", `/v1/jobs/${jobIds[0]}`);
  assert.equal(body.request.url, "https://example.com/hook");
});

test("a task's jobs: newest first, by pages that meet without gap or repeat", async () => {
  const { api, id, jobIds } = await openWithJobs(25);
  await using _ = api;
  const seen: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { body } = await api.acme("GET", `/v1/tasks/${id}/jobs?limit=10${query}`);
    sizes.push(body.items.length);
    seen.push(...body.items.map((job: { id: string }) => job.id));
    assert.equal(body.items[0].request.bodyBytes, 2);
    assert.equal("body" in body.items[0].request, false);
    cursor = body.nextCursor;
  } while (cursor !== null);
  assert.deepEqual(sizes, [10, 10, 5]);
  assert.deepEqual(seen, jobIds);
});

test("a task's jobs by status and time; what cannot be asked is refused", async () => {
  const { api, id, jobIds, change } = await openWithJobs(4);
  await using _ = api;
  change(jobIds[0] ?? "", { status: "dead" });
  change(jobIds[1] ?? "", { status: "succeeded" });
  const list = (query: string) => api.acme("GET", `/v1/tasks/${id}/jobs?${query}`);
  const count = async (query: string) => (await list(query)).body.items.length;
  assert.equal(await count("status=dead"), 1);
  assert.equal(await count("status=dead,succeeded"), 2);
  assert.equal(await count("status=dead&status=pending"), 3);
  assert.equal(await count("from=2026-06-01T09:00:00.001Z"), 2);
  assert.equal(await count("to=2026-06-01T09:00:00.001Z"), 2);
  assert.equal(await count("from=2026-06-01T11:00:00%2B02:00"), 4);
  assert.equal(await count("from=2026-06-01T11:00:00+02:00"), 4);
  assert.equal(await count("from=2026-06-01T11:00:00.001+02:00&to=2026-06-01T12:00+02:00"), 2);
  for (const [query, field] of [
    ["status=lost", "status"],
    ["status=", "status"],
    ["from=yesterday", "from"],
    ["from=2026-06-01", "from"],
    ["from=2026-06-01+02:00", "from"],
    ["from=2026-06-01+09:00:00", "from"],
    ["from=2026-06-01T11:00:00++02:00", "from"],
    ["from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z", "to"],
    ["limit=", "limit"],
    ["taskId=x", "taskId"],
  ] as const) {
    const answer = await list(query);
    assert.equal(answer.status, 422, query);
    assert.equal(answer.body.errors[0].field, field);
  }
  const { nextCursor } = (await list("limit=1")).body;
  assert.equal((await list(`limit=2&cursor=${nextCursor}`)).status, 200);
  assert.equal((await list(`status=dead&cursor=${nextCursor}`)).status, 400);
});

test("a page ends at 4 MB", async () => {
  const { api, id, jobIds, change } = await openWithJobs(30);
  await using _ = api;
  const attempts = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      i + 1,
      { ...record, attempt: i + 1, responseBody: "\0".repeat(1_024) },
    ]),
  );
  for (const jobId of jobIds) change(jobId, { attempts });
  const { body, text } = await api.acme("GET", `/v1/tasks/${id}/jobs?limit=200`);
  assert.ok(Buffer.byteLength(text) < 4 * 1024 * 1024 + 1_024);
  assert.ok(body.items.length > 10 && body.items.length < 30);
  const rest = await api.acme("GET", `/v1/tasks/${id}/jobs?limit=200&cursor=${body.nextCursor}`);
  assert.equal(body.items.length + rest.body.items.length, 30);
});

test("another tenant's job and task, and ids that are none, are 404", async () => {
  const { api, id, jobIds } = await openWithJobs(1);
  await using _ = api;
  const other = api.as("other");
  assert.equal((await other("GET", `/v1/jobs/${jobIds[0]}`)).status, 404);
  assert.equal((await other("GET", `/v1/tasks/${id}/jobs`)).status, 404);
  for (const path of [
    "/v1/jobs/job_x",
    `/v1/jobs/${id}`,
    `/v1/tasks/${jobIds[0]}/jobs`,
    "/v1/jobs/%00",
  ])
    assert.equal((await api.acme("GET", path)).status, 404, path);
});
