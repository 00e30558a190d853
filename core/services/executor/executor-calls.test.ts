/** The executor on a shard in memory: what it sends, when, and what an answer makes of the job. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { masterKeyOf } from "#adapters/crypto/key-file.ts";
import type { JobId } from "#core/domain/ids.ts";
import { FAILURE_BODY_BYTES_KEPT, SUCCESS_BODY_BYTES_KEPT } from "#core/domain/limits.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { ClaimRequest, QueueHead } from "#core/ports/job-store.ts";
import type { KeyContext } from "#core/ports/secrets.ts";
import {
  addExecutor,
  addJob,
  addTask,
  endWorld,
  jobOf,
  openWorld,
  RETRY,
} from "#test/support/executor-world.ts";
import { settle } from "#test/support/manual-clock.ts";

test("a job is claimed ahead and sent at its second, once, signed, with our headers; its success is recorded", async () => {
  const timings = { dnsMs: 0.04, connectMs: 12.349, tlsMs: null, firstByteMs: 60, totalMs: 80.97 };
  const world = openWorld({ endpoint: () => ({ status: 200, more: { timings } }) });
  const { clock, tables, sent } = world;
  await clock.advance(500);
  const id = addJob(tables, 5_250);
  const dueMs = tables.nowMs() + 5_250;
  await clock.advance(5_200);
  assert.equal(sent.length, 0);
  assert.equal(jobOf(tables, id).status, "running");
  const heldAtMs = tables.nowMs();
  await clock.advance(300);
  assert.equal(sent.length, 1);
  assert.equal(sent[0]?.atMs, dueMs);
  const { "webhook-signature": signature, ...headers } = sent[0]?.headers ?? {};
  assert.match(signature ?? "", /^v1,[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(headers, {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(dueMs / 1_000)),
    "user-agent": "at-and-cron/1",
    "X-Kind": "a",
    "idempotency-key": id,
    "x-scheduled-at": new Date(dueMs).toISOString(),
    "x-attempt": "1",
  });
  const job = jobOf(tables, id);
  assert.equal(job.status, "succeeded");
  assert.equal(job.workerId, null);
  const { claimedAtMs = 0, ...record } = job.attempts["1"] ?? {};
  assert.ok(claimedAtMs > heldAtMs - 2_000 && claimedAtMs <= heldAtMs, `${claimedAtMs - dueMs}`);
  assert.deepEqual(record, {
    attempt: 1,
    startedAtMs: dueMs,
    lagMs: 0,
    durationMs: 0,
    statusCode: 200,
    error: null,
    responseBody: "body",
    timings: [0, 12.3, null, 60, 81],
  });
  assert.equal(await endWorld(world), true);
  assert.equal(tables.workers.size, 0, "a clean exit leaves no worker behind");
});

for (const [what, endpoint, retry, reason] of [
  ["410", { status: 410 }, RETRY, "endpoint answered 410 Gone"],
  [
    "Webhook-Stop",
    { status: 503, more: { stop: true } },
    RETRY,
    "endpoint answered 503 with Webhook-Stop",
  ],
  [
    "a failure that retryOn does not name",
    { status: 404 },
    { ...RETRY, retryOn: ["network", "timeout", "5xx", "429"] },
    "not retried: retryOn has no 404",
  ],
] as const)
  test(`${what} ends the job at its first call, with the reason`, async () => {
    const world = openWorld({ endpoint: () => endpoint });
    const { clock, tables, sent } = world;
    const id = addJob(tables, 1_000, {}, retry);
    await clock.advance(60_000);
    assert.equal(sent.length, 1);
    assert.partialDeepStrictEqual(jobOf(tables, id), { status: "dead", reason, attempt: 1 });
    await endWorld(world);
  });

test("a job whose task has its secrets for another origin by now is dead at once, uncalled, with the reason", async () => {
  const world = openWorld();
  const { clock, tables, sent } = world;
  const { task, version } = addTask(tables);
  const request = { ...version.request, secretHeaders: ["X-Key"] };
  const moved = { ...request, url: "https://other.example/hook" };
  tables.addVersion({ ...version, request });
  tables.addVersion({ ...version, requestVersion: 2, request: moved });
  tables.tasks.set(task.id, { ...task, requestVersion: 2 });
  const secret = { fingerprint: "00".repeat(32), sealed: new Uint8Array(80) };
  tables.secrets.set(task.id, [{ name: "header:x-key", ...secret }]);
  const job = makeScheduledJob(task, "schedule", tables.nowMs() + 1_000, tables.nowMs());
  tables.insertJobs([job]);
  await clock.advance(60_000);
  assert.equal(sent.length, 0);
  const { attempts, ...ended } = jobOf(tables, job.id);
  const reason = "not called: its task's secrets are for another origin now";
  assert.partialDeepStrictEqual(ended, { status: "dead", reason, attempt: 1 });
  assert.equal(attempts["1"]?.error, "secret-other-origin");
  await endWorld(world);
});

test("a call is signed for the instant at which it leaves, on the database's clock, however wrong the executor's is", async () => {
  for (const aheadMs of [301_000, 3_600_000, -301_000]) {
    const world = openWorld();
    const { clock, database, tables, sent } = world;
    database.aheadMs = aheadMs;
    await clock.advance(500);
    const dueMs = tables.nowMs() + 5_250;
    const id = addJob(tables, 5_250);
    await clock.advance(6_000);
    assert.equal(sent[0]?.headers["webhook-timestamp"], String(Math.floor(dueMs / 1_000)));
    assert.equal(jobOf(tables, id).attempts["1"]?.startedAtMs, dueMs);
    await endWorld(world);
  }
});

test("what a call is signed with is open before its second", async () => {
  const real = masterKeyOf([randomBytes(32)]);
  let asked = 0;
  const generate = (context: KeyContext) => {
    asked++;
    return real.generate(context);
  };
  const world = openWorld({ masterKey: { generate, unwrap: real.unwrap.bind(real) } });
  const { clock, tables, sent } = world;
  addJob(tables, 1_000);
  await clock.advance(500);
  assert.equal(sent.length, 0);
  assert.ok(asked > 0, "a data key is made for the tenant's first signing secret");
  const before = asked;
  await clock.advance(1_000);
  assert.equal(sent.length, 1);
  assert.equal(asked, before);
  await endWorld(world);
});

test("a claim begins at the heads that the poll before it has told", async () => {
  const world = openWorld();
  const { clock, tables, shard } = world;
  const { jobs } = shard;
  const told: ReadonlyMap<number, QueueHead>[] = [];
  const asked: ClaimRequest[] = [];
  const [poll, claimDue] = [jobs.poll.bind(jobs), jobs.claimDue.bind(jobs)];
  jobs.poll = async (request) => {
    const answer = await poll(request);
    told.push(answer.heads);
    return answer;
  };
  jobs.claimDue = (request) => {
    const heads = told.at(-1);
    for (const { queue, head } of request.branches) assert.deepEqual(head, heads?.get(queue));
    asked.push(request);
    return claimDue(request);
  };
  for (const priority of ["high", "normal"] as const)
    for (let i = 0; i < 3; i++) addJob(tables, 700 * i, { priority });
  await clock.advance(5_000);
  assert.ok(asked.some(({ branches }) => branches.length === 2));
  assert.equal(world.sent.length, 6);
  await endWorld(world);
});

test("Retry-After: the longer of backoff and header, up to the policy's maximum", async () => {
  const asked = [25_000, 1_000, null, 900_000];
  const world = openWorld({
    endpoint: ({ headers }) => ({
      status: 429,
      more: { retryAfterMs: asked[Number(headers["x-attempt"]) - 1] ?? null },
    }),
  });
  const { clock, tables, sent } = world;
  const retry = { ...RETRY, maxAttempts: 5, jitter: 0, maxDelaySeconds: 120 };
  addJob(tables, 1_000, { maxAttempts: 5 }, retry);
  await clock.advance(300_000);
  const waits = sent.slice(1).map(({ atMs }, at) => atMs - (sent[at]?.atMs ?? 0));
  for (const [at, wantedMs] of [25_000, 30_000, 90_000, 120_000].entries())
    assert.ok(Math.abs((waits[at] ?? 0) - wantedMs) < 50, `${waits}`);
  assert.equal(waits.length, 4);
  await endWorld(world);
});

test("failures are retried with growing waits, numbered, and end dead when used up", async () => {
  const world = openWorld({ endpoint: () => ({ status: 500 }) });
  const { clock, tables, sent } = world;
  const id = addJob(tables, 1_000);
  await clock.advance(60_000);
  assert.deepEqual(
    sent.map(({ headers }) => headers["x-attempt"]),
    ["1", "2", "3"],
  );
  const waits = sent.slice(1).map(({ atMs }, i) => atMs - (sent[i]?.atMs ?? 0));
  assert.ok(
    Math.abs((waits[0] ?? 0) - 10_000) < 50 && Math.abs((waits[1] ?? 0) - 30_000) < 50,
    `${waits}`,
  );
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "dead",
    reason: "attempts used up",
    attempt: 3,
    claimNo: 3,
  });
  await endWorld(world);
});

test("a first attempt counts as late from its second on, however long it was put off; a later one from when it was to be made", async () => {
  let status = 500;
  const world = openWorld({ endpoint: () => ({ status }) });
  const { clock, tables } = world;
  await clock.advance(500);
  const id = addJob(tables, 1_000);
  const job = jobOf(tables, id);
  const runAtMs = job.runAtMs + 20_000;
  tables.jobs.set(id, { ...job, runAtMs, dueAtMs: runAtMs });
  await clock.advance(22_000);
  status = 200;
  await clock.advance(60_000);
  const { status: ended, attempts } = jobOf(tables, id);
  assert.equal(ended, "succeeded");
  const lagsMs = Object.values(attempts).map(({ lagMs }) => lagMs);
  assert.deepEqual(lagsMs, [20_000, 0]);
  await endWorld(world);
});

test("a job whose request is gone ends dead with the reason, and holds up nobody", async () => {
  const world = openWorld();
  const { clock, tables, sent } = world;
  await clock.advance(1_000);
  const id = addJob(tables, 0);
  tables.versions.clear();
  const fine = addJob(tables, 0);
  await clock.advance(2_000);
  assert.partialDeepStrictEqual(jobOf(tables, id), {
    status: "dead",
    reason: "its request version does not exist",
  });
  assert.equal(world.counters.get("dead"), 1);
  assert.equal(jobOf(tables, fine).status, "succeeded");
  assert.equal(sent.length, 1);
  await endWorld(world);
});

test("jobs in hand follow the database's clock when it is stepped, and none leaves before its time", async () => {
  for (const stepMs of [20_000, 400, -400, -20_000]) {
    const world = openWorld();
    const { clock, tables, sent } = world;
    const nowMs = clock.nowMs.bind(clock);
    await clock.advance(1_000);
    const [first, second] = [addJob(tables, 1_100), addJob(tables, 1_150)];
    await clock.advance(300);
    const { runAtMs } = jobOf(tables, second);
    assert.equal(jobOf(tables, first).status, "running");
    clock.nowMs = () => nowMs() + stepMs;
    const leftMs = Math.max(200, runAtMs - tables.nowMs());
    await clock.advance(leftMs + 1);
    assert.deepEqual(sent.length, 2, `stepped by ${stepMs} ms`);
    for (const { atMs } of sent) assert.ok(atMs >= runAtMs - 50);
    await endWorld(world);
  }
});

test("a manual run's payload is laid over the request, header by header", async () => {
  const world = openWorld();
  const { clock, tables, sent } = world;
  const { task } = addTask(tables);
  const payload = { headers: { "x-KIND": "b", "x-new": "c" }, body: "other" };
  tables.insertJobs([makeManualJob(task, "manual", tables.nowMs(), 7, payload)]);
  await clock.advance(2_000);
  assert.equal(sent.length, 1);
  assert.partialDeepStrictEqual(sent[0], {
    body: "other",
    headers: { "x-KIND": "b", "x-new": "c" },
  });
  assert.ok(!("X-Kind" in (sent[0]?.headers ?? {})), "replaced, not doubled");
  await endWorld(world);
});

test("two executors on one shard share 1,000 jobs: each is sent once", async () => {
  const world = openWorld();
  const { clock, tables, sent } = world;
  const endpoint = () => ({ status: 200, afterMs: 5 });
  const other = addExecutor(world, { slots: 10, endpoint, seed: 200 });
  await clock.advance(1_000);
  const ids = Array.from({ length: 1_000 }, () => addJob(tables, 2_000));
  await clock.advance(20_000);
  assert.equal(sent.length, 1_000);
  assert.equal(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size, 1_000);
  assert.ok(ids.every((id) => jobOf(tables, id).status === "succeeded"));
  await settle();
  assert.equal(await endWorld(world), true);
  assert.equal(await other.ended, true);
});

test("of an answer as much is kept as its call is worth: of a failure and of a test more than of a success", async () => {
  const long = "é".repeat(100_000);
  let status = 200;
  const world = openWorld({ endpoint: () => ({ status, more: { responseBody: long } }) });
  const { clock, tables } = world;
  await clock.advance(100);
  const keptOf = async (id: JobId) => {
    await clock.advance(3_000);
    const [attempt] = Object.values(jobOf(tables, id).attempts);
    return new TextEncoder().encode(attempt?.responseBody ?? "").length;
  };
  assert.equal(await keptOf(addJob(tables, 0)), SUCCESS_BODY_BYTES_KEPT);
  const { task } = addTask(tables);
  const tested = makeManualJob(task, "test", tables.nowMs(), 1, null);
  tables.insertJobs([tested]);
  assert.equal(await keptOf(tested.id), FAILURE_BODY_BYTES_KEPT);
  status = 500;
  assert.equal(await keptOf(addJob(tables, 0)), FAILURE_BODY_BYTES_KEPT);
  const mute = addTask(tables);
  const version = {
    ...mute.version,
    request: { ...mute.version.request, captureResponse: false as const },
  };
  tables.addVersion(version);
  const unkept = makeScheduledJob(mute.task, "schedule", tables.nowMs(), tables.nowMs());
  tables.insertJobs([unkept]);
  assert.equal(await keptOf(unkept.id), 0, "nothing where the task says so");
  assert.equal(jobOf(tables, unkept.id).attempts[1]?.statusCode, 500);
  await endWorld(world);
});
