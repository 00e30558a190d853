/** An executor whose database, lease or master key is away: nothing is sent that must not be, nothing is lost, nothing is sent twice. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { masterKeyOf } from "#adapters/crypto/key-file.ts";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import {
  CARRIED_BYTES_MAX,
  RENEW_PERIOD_MS,
  SECRETS_AGAIN_MS,
  START_WINDOW_MS,
} from "#core/domain/limits.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { type MasterKey, SecretsUnavailable } from "#core/ports/secrets.ts";
import {
  addFatJob,
  addJob,
  addTask,
  endWorld,
  jobOf,
  openWorld,
  RETRY,
} from "#test/support/executor-world.ts";

test("cut off from the database, no call starts later than the window after the last good poll", async () => {
  const world = openWorld();
  const { clock, tables, sent, faults } = world;
  await clock.advance(1_000);
  // Claimed while all is well; due inside and beyond the window.
  const soon = addJob(tables, 1_100);
  await clock.advance(200);
  const cutMs = clock.nowMs();
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 10_000 } as const;
  for (const verb of ["poll", "renew", "recordResults", "claimDue"]) faults.set(verb, { ...away });
  const held = jobOf(tables, soon);
  assert.equal(held.status, "running");
  await clock.advance(30_000);
  assert.equal(sent.length, 1);
  assert.ok((sent[0]?.atMs ?? 0) <= cutMs + START_WINDOW_MS);
  assert.equal(jobOf(tables, soon).status, "running", "the result waits in memory");
  faults.clear();
  await clock.advance(2_500);
  assert.equal(jobOf(tables, soon).status, "succeeded");
  assert.equal(sent.length, 1);
  await endWorld(world);
});

test("a job that waited in memory while the lease ran out is not sent before the lease is good again", async () => {
  const world = openWorld({ slots: 1, endpoint: () => ({ status: 200, afterMs: 8_000 }) });
  const { clock, tables, sent, faults } = world;
  await clock.advance(1_000);
  addJob(tables, 0);
  await clock.advance(300);
  addJob(tables, 0);
  await clock.advance(300);
  assert.equal(sent.length, 1);
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 10_000 } as const;
  for (const verb of ["poll", "renew"]) faults.set(verb, { ...away });
  await clock.advance(9_000);
  assert.equal(sent.length, 1, "the slot is free, but nothing may start");
  faults.clear();
  const backMs = clock.nowMs();
  await clock.advance(3_000);
  assert.equal(sent.length, 2);
  assert.ok((sent[1]?.atMs ?? 0) >= backMs);
  await endWorld(world);
});

test("fenced: unsent jobs are dropped, the call under way is still recorded under the old id, work goes on under a new one", async () => {
  const world = openWorld({ endpoint: () => ({ status: 200, afterMs: 3_000 }) });
  const { clock, tables, sent, faults, shard } = world;
  await clock.advance(1_000);
  const underWay = addJob(tables, 0);
  await clock.advance(300);
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 10_000 } as const;
  const unsent = addJob(tables, 1_150);
  await clock.advance(300);
  assert.equal(jobOf(tables, unsent).status, "running");
  const [old] = tables.workers.keys();
  assert(old !== undefined);
  tables.workers.set(old, { leaseUntilMs: clock.nowMs() - 1, fencedAtMs: clock.nowMs() });
  faults.set("poll", { ...away });
  await clock.advance(2_100);
  faults.clear();
  assert.equal(sent.length, 1, "the unsent job was dropped when the renewal found the fence");
  await clock.advance(3_000);
  assert.equal(jobOf(tables, underWay).status, "succeeded");
  assert.equal(jobOf(tables, unsent).status, "running", "it is the reconciler's to give back");
  const later = addJob(tables, 100);
  await clock.advance(4_000);
  assert.equal(jobOf(tables, later).status, "succeeded");
  const ids = [...tables.workers.keys()] as WorkerId[];
  assert.equal(ids.length, 2);
  assert.equal((await shard.workers.renew(old, 1)).kind, "fenced");
  await endWorld(world);
});

test("a claim that hears of the fence after the renewal did: the id that is new by then is kept", async () => {
  const world = openWorld();
  const { clock, tables, shard, counters } = world;
  const { jobs } = shard;
  const { claimDue } = jobs;
  await clock.advance(1_000);
  const [old] = tables.workers.keys();
  assert(old !== undefined);
  jobs.claimDue = async (request) => {
    if (request.workerId === old) {
      tables.workers.set(old, { leaseUntilMs: clock.nowMs() - 1, fencedAtMs: clock.nowMs() });
      await clock.sleep(RENEW_PERIOD_MS);
    }
    return claimDue.call(jobs, request);
  };
  const id = addJob(tables, 0);
  await clock.advance(RENEW_PERIOD_MS + 500);
  assert.equal(jobOf(tables, id).status, "succeeded");
  assert.deepEqual([tables.workers.size, counters.get("fenced")], [2, 1]);
  await endWorld(world);
});

test("a claim that cannot be settled for long: polls go on, and so do calls", async () => {
  const world = openWorld();
  const { clock, tables, shard, faults, executor } = world;
  const { jobs } = shard;
  const { adopt } = jobs;
  jobs.adopt = async () => {
    await clock.sleep(1_000);
    throw new StoreUnavailable("locked");
  };
  await clock.advance(1_000);
  faults.set("claimDue", { when: "after", error: () => new OutcomeUnknown("cut"), left: 1 });
  const id = addJob(tables, 0);
  for (let tenth = 0; tenth < 200; tenth++) {
    await clock.advance(100);
    assert.ok(executor.mayStart, `${tenth / 10} s`);
  }
  jobs.adopt = adopt;
  await clock.advance(3_000);
  assert.partialDeepStrictEqual(jobOf(tables, id), { status: "succeeded", attempt: 1, lost: 0 });
  await endWorld(world);
});

for (const when of ["before", "after"] as const)
  test(`a claim whose COMMIT was lost ${when} it happened: every job is sent once`, async () => {
    const world = openWorld();
    const { clock, tables, sent, faults, counters } = world;
    await clock.advance(1_000);
    faults.set("claimDue", { when, error: () => new OutcomeUnknown("cut"), left: 1 });
    faults.set("adopt", { when: "before", error: () => new StoreUnavailable("away"), left: 3 });
    const ids = Array.from({ length: 20 }, () => addJob(tables, 500));
    await clock.advance(10_000);
    assert.equal(sent.length, 20);
    assert.ok(ids.every((id) => jobOf(tables, id).status === "succeeded"));
    assert.equal(counters.get("claims_unknown"), 1);
    await endWorld(world);
  });

test("claims whose COMMITs are all answered too late: the next ask for as many, and are made at once", async () => {
  const world = openWorld({ slots: 200 });
  const { clock, tables, sent, faults, shard } = world;
  await clock.advance(1_000);
  const limits: number[] = [];
  const { jobs } = shard;
  const { claimDue } = jobs;
  jobs.claimDue = (request) => {
    limits.push(request.limit);
    return claimDue.call(jobs, request);
  };
  const error = () => new OutcomeUnknown("late");
  faults.set("claimDue", { when: "after", error, left: Number.POSITIVE_INFINITY });
  for (let n = 0; n < 2_000; n++) addJob(tables, 0);
  await clock.advance(3_000);
  assert.equal(sent.length, 2_000);
  assert.ok(limits.length < 20 && Math.min(...limits) >= 100, limits.join());
  await endWorld(world);
});

for (const when of ["before", "after"] as const)
  test(`results whose write was lost ${when} it happened are repeated, and nothing is sent again`, async () => {
    const world = openWorld();
    const { clock, tables, sent, faults } = world;
    await clock.advance(1_000);
    faults.set("recordResults", { when, error: () => new OutcomeUnknown("cut"), left: 5 });
    const ids = Array.from({ length: 20 }, () => addJob(tables, 500));
    await clock.advance(10_000);
    assert.equal(sent.length, 20);
    assert.ok(ids.every((id) => jobOf(tables, id).status === "succeeded"));
    await endWorld(world);
  });

test("large bodies are read when their call has a slot; while the database does not say, that is no attempt", async () => {
  const world = openWorld();
  const { clock, tables, faults, sent } = world;
  await clock.advance(1_000);
  const body = "b".repeat(CARRIED_BYTES_MAX);
  const scheduled = addFatJob(tables, body);
  const { task } = addTask(tables);
  const manual = makeManualJob(task, "manual", tables.nowMs(), 7, { body: `${body}!` });
  tables.insertJobs([manual]);
  const away = { when: "before", error: () => new StoreUnavailable("away"), left: 2 } as const;
  faults.set("loadVersions", { ...away });
  faults.set("find", { ...away });
  await clock.advance(5_000);
  assert.deepEqual(new Set(sent.map((call) => call.body)), new Set([body, `${body}!`]));
  assert.equal(sent.length, 2);
  for (const id of [scheduled, manual.id])
    assert.partialDeepStrictEqual(jobOf(tables, id), { status: "succeeded", attempt: 1, lost: 0 });
  await endWorld(world);
});

test("while the master key is away, jobs wait without an attempt spent, not asking all the time; then they are sent", async () => {
  const real = masterKeyOf([randomBytes(32)]);
  let asked = 0;
  let isAway = true;
  const masterKey: MasterKey = {
    unwrap: (wrapped, context) => real.unwrap(wrapped, context),
    generate: async (context) => {
      asked++;
      if (isAway) throw new SecretsUnavailable("away");
      return real.generate(context);
    },
  };
  const world = openWorld({ masterKey });
  const { clock, tables, sent, counters } = world;
  const id = addJob(tables, 1_000, { maxAttempts: 1 }, { ...RETRY, maxAttempts: 1 });
  await clock.advance(60_000);
  assert.equal(sent.length, 0);
  assert.deepEqual(jobOf(tables, id).attempts, {});
  assert.ok(asked >= 5 && asked <= 20, `${asked} times in a minute`);
  assert.equal(counters.get("results_secrets"), counters.get("given_back"));
  isAway = false;
  await clock.advance(3 * SECRETS_AGAIN_MS);
  assert.partialDeepStrictEqual(jobOf(tables, id), { status: "succeeded", attempt: 1 });
  await endWorld(world);
});

test("critical tasks that cannot be made are told in the log, also while each poll brings jobs", async () => {
  const world = openWorld({ endpoint: () => ({ status: 200, afterMs: 20 }) });
  const { clock, tables, faults, warned } = world;
  await clock.advance(1_000);
  const error = () => new StoreUnavailable("away");
  faults.set("takeCritical", { when: "before", error, left: Number.POSITIVE_INFINITY });
  addTask(tables, { priority: "critical", nextRunAtMs: tables.nowMs() });
  for (let n = 0; n < 8_000; n++) addJob(tables, 0);
  await clock.advance(9_000);
  assert.equal(warned.filter((line) => line.startsWith("critical tasks wait")).length, 1);
  faults.clear();
  await endWorld(world);
});
