/** The reconciler on a shard in memory, with time moved by hand: whose lease it takes, which jobs it gives back, and when it must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId } from "#core/domain/ids.ts";
import { REASON_PAUSED } from "#core/domain/job.ts";
import {
  PASS_PERIOD_MS,
  RENEW_TRY_MS,
  RESCUE_GROUP_MAX,
  SEEN_APART_MS,
  WORKER_LEASE_MS,
} from "#core/domain/limits.ts";
import { A, B, openWorld } from "#test/support/reconciler-world.ts";
import { Reconciler } from "./reconcile-pass.ts";
import { runPasses } from "./run-passes.ts";

/** How long a statement may take that has no deadline of its own. */
const STATEMENT_MS = 5_001;

test("who died before the database's clock was set back by an hour is fenced as soon as any other, who lives is not", async () => {
  const { shard, clock, deps, addHeld, job } = openWorld();
  for (const worker of [A, B]) await shard.workers.register(worker, 3_600_000 + WORKER_LEASE_MS);
  const ids = [addHeld(A), addHeld(B)];
  const reconciler = new Reconciler(deps);
  for (let ms = 0; ms <= WORKER_LEASE_MS + SEEN_APART_MS + PASS_PERIOD_MS; ms += PASS_PERIOD_MS) {
    await reconciler.passOnce();
    await clock.advance(PASS_PERIOD_MS);
    assert.deepEqual(await shard.workers.renew(B, WORKER_LEASE_MS), { kind: "renewed" });
    if (ms < WORKER_LEASE_MS) assert.equal(job(ids[0] as JobId).status, "running");
  }
  assert.deepEqual(
    ids.map((id) => job(id).status),
    ["pending", "running"],
  );
});

test("a worker whose lease stays expired is fenced with the third look, and its jobs come back, the future ones too", async () => {
  const { clock, shard, deps, addHeld, job, passes } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  await shard.workers.register(B, 600_000);
  const due = addHeld(A);
  const ahead = addHeld(A, {}, 20_000);
  const others = addHeld(B);
  await clock.advance(WORKER_LEASE_MS + 1);
  const [first, second, third] = await passes(new Reconciler(deps), 3);
  assert.deepEqual([first?.fenced, second?.fenced, third?.fenced], [0, 0, 1]);
  assert.equal(third?.pending, 2);
  for (const id of [due, ahead]) {
    const { status, lost, claimNo, workerId } = job(id);
    assert.deepEqual([status, lost, claimNo, workerId], ["pending", 1, 1, A]);
  }
  assert.equal(job(ahead).dueAtMs, job(ahead).runAtMs, "due at its own time");
  assert.deepEqual([job(others).status, job(others).lost], ["running", 0]);
  assert.deepEqual(await shard.workers.renew(A, 1), { kind: "fenced" });
  assert.deepEqual(await shard.workers.renew(B, 600_000), { kind: "renewed" });
});

test("a worker that renews between two looks keeps its lease, however late it is", async () => {
  const { clock, shard, deps, addHeld, job, passes } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  const held = addHeld(A, { dueAtMs: clock.nowMs() + 3_600_000 });
  const reconciler = new Reconciler(deps);
  for (let n = 0; n < 10; n++) {
    await clock.advance(WORKER_LEASE_MS + 1);
    await passes(reconciler, 2);
    assert.deepEqual(await shard.workers.renew(A, WORKER_LEASE_MS), { kind: "renewed" });
    await reconciler.passOnce();
  }
  assert.deepEqual([job(held).status, job(held).lost], ["running", 0]);
});

test("a database that takes longer to answer a look than a renewal has costs no worker its lease", async () => {
  for (const answerMs of [RENEW_TRY_MS, 2_500, 5_000]) {
    const { clock, shard, deps, said, addHeld, job } = openWorld();
    await shard.workers.register(A, WORKER_LEASE_MS);
    const held = addHeld(A);
    const { workers } = shard;
    const answer = workers.listExpired.bind(workers);
    workers.listExpired = async (limit, deadlineMs = STATEMENT_MS) => {
      await clock.sleep(Math.min(answerMs, deadlineMs));
      if (answerMs >= deadlineMs) throw new StoreUnavailable("not answered in time");
      return answer(limit);
    };
    const run = runPasses(deps, clock.monotonicMs() + 30_000);
    await clock.advance(60_000);
    const { passes, fenced } = await run;
    assert.deepEqual([passes, fenced, job(held).status], [0, 0, "running"], `${answerMs} ms`);
    assert.match(said[0] ?? "", /no look at the leases: database away or busy/);
  }
});

test("a failed pass forgets what was seen: a database that flaps costs no worker its lease", async () => {
  const { clock, shard, deps, failing, addHeld, job, passes } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  const held = addHeld(A);
  await clock.advance(WORKER_LEASE_MS + 1);
  const reconciler = new Reconciler(deps);
  for (const verb of ["listExpired", "listFenced", "listPastBackstop"] as const) {
    for (let flaps = 0; flaps < 3; flaps++) {
      await passes(reconciler, 2);
      failing.add(verb);
      await assert.rejects(reconciler.passOnce(), StoreUnavailable);
      failing.delete(verb);
    }
  }
  assert.equal(job(held).status, "running");
  const done = await passes(reconciler, 3);
  assert.deepEqual(
    done.map(({ fenced }) => fenced),
    [0, 0, 1],
    "three looks without a failure are needed again",
  );
});

for (const verb of ["pruneUnread", "pruneFenced"])
  for (const error of [StoreUnavailable, StoreRefused])
    test(`a ${verb} that fails with ${error.name} costs no look: the worker is fenced with the third`, async () => {
      const { shard, deps, clock, failing, asked, said, addHeld, job, passes } = openWorld(error);
      await shard.workers.register(A, WORKER_LEASE_MS);
      const held = addHeld(A);
      await clock.advance(WORKER_LEASE_MS + 1);
      failing.add(verb);
      const done = await passes(new Reconciler(deps), 3);
      assert.deepEqual(
        done.map(({ fenced }) => fenced),
        [0, 0, 1],
      );
      assert.equal(job(held).status, "pending");
      assert.match(said[0] ?? "", /not removed now; the next run tries again/);
      assert.equal(asked.filter((one) => one === verb).length, 1, "once a run");
      failing.delete(verb);
      await passes(new Reconciler(deps), 2);
      assert.equal(asked.filter((one) => one === verb).length, 2);
    });

test("rows that take long to be removed cost no look", async () => {
  const { shard, deps, clock, addHeld, job, passes } = openWorld();
  const { tasks, workers } = shard;
  const slowly = (prune: (limit: number) => Promise<number>) => async (limit: number) => {
    await clock.advance(9_000);
    return prune(limit);
  };
  tasks.pruneUnread = slowly(tasks.pruneUnread.bind(tasks));
  workers.pruneFenced = slowly(workers.pruneFenced.bind(workers));
  await workers.register(A, WORKER_LEASE_MS);
  const held = addHeld(A);
  await clock.advance(WORKER_LEASE_MS + 1);
  const done = await passes(new Reconciler(deps), 2);
  assert.deepEqual(
    done.map(({ fenced }) => fenced),
    [0, 1],
  );
  assert.equal(job(held).status, "pending");
});

test("looks that lie far apart have nothing to do with each other", async () => {
  const { clock, shard, deps, passes } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  await clock.advance(WORKER_LEASE_MS + 1);
  const reconciler = new Reconciler(deps);
  await passes(reconciler, 2);
  await clock.advance(60_000);
  assert.equal((await reconciler.passOnce()).fenced, 0, "the machine may have slept");
});

test("a job goes its own way: cancelled where somebody asked for it, dead after five losses", async () => {
  const { clock, tables, shard, deps, addHeld, job, passes } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  const paused = addHeld(A, { cancelReason: "task paused" });
  const poison = addHeld(A, { lost: 4 });
  const fourth = addHeld(A, { lost: 3 });
  const only = addHeld(A, { maxAttempts: 1 });
  await clock.advance(WORKER_LEASE_MS + 1);
  const done = await passes(new Reconciler(deps), 3);
  const { pending, dead, cancelled } = done.at(-1) ?? {};
  assert.deepEqual({ pending, dead, cancelled }, { pending: 2, dead: 1, cancelled: 1 });
  assert.deepEqual([job(paused).status, job(paused).reason], ["cancelled", "task paused"]);
  assert.deepEqual([job(poison).status, job(poison).reason], ["dead", "lost"]);
  assert.equal(job(fourth).status, "pending");
  assert.equal(job(only).status, "pending", "what was never sent is no attempt");
  assert.equal(tables.jobs.size, 4);
});

test("jobs of a worker that an earlier run had fenced are given back at once, in batches, until there are none", async () => {
  const { clock, shard, deps, asked, addHeld, job } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  const ids = Array.from({ length: 2 * RESCUE_GROUP_MAX + 1 }, () => addHeld(A));
  await clock.advance(WORKER_LEASE_MS + 1);
  assert.equal(await shard.workers.fence(A), true);
  const reconciler = new Reconciler(deps);
  const pass = await reconciler.passOnce();
  assert.deepEqual([pass.pending, pass.more], [ids.length, false]);
  for (const id of ids) assert.equal(job(id).lost, 1);
  assert.equal(asked.filter((verb) => verb === "rescue").length, 3);
  asked.length = 0;
  await reconciler.passOnce();
  assert.equal(asked.includes("listHeldBy"), false, "nothing is looked for twice");
});

test("a worker that cannot be fenced now keeps no other one waiting", async () => {
  const { clock, shard, deps, failing, said, addHeld, job, passes } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  await shard.workers.register(B, WORKER_LEASE_MS);
  const held = addHeld(B);
  await clock.advance(WORKER_LEASE_MS + 1);
  assert.equal(await shard.workers.fence(B), true);
  failing.add("fence");
  const done = await passes(new Reconciler(deps), 3);
  assert.equal(done.at(-1)?.fenced, 0);
  assert.equal(job(held).status, "pending");
  assert.match(said.join("\n"), /could not be fenced yet/);
});

test("a job past its backstop comes back after two looks, one that was claimed anew in between does not", async () => {
  const { clock, tables, shard, deps, addHeld, job } = openWorld();
  await shard.workers.register(A, 600_000);
  const over = addHeld(A, { dueAtMs: clock.nowMs() - 1 });
  const again = addHeld(A, { dueAtMs: clock.nowMs() - 1 });
  const fine = addHeld(A);
  const reconciler = new Reconciler(deps);
  await reconciler.passOnce();
  await clock.advance(PASS_PERIOD_MS);
  await reconciler.passOnce();
  tables.jobs.set(again, { ...job(again), claimNo: 2 });
  await clock.advance(PASS_PERIOD_MS);
  const pass = await reconciler.passOnce();
  assert.equal(pass.pending, 1);
  assert.deepEqual(
    [over, again, fine].map((id) => job(id).status),
    ["pending", "running", "running"],
  );
});

test("a run looks every two seconds until its time is out, and says once that the database is away", async () => {
  const { clock, deps, shard, failing, said, addHeld, job } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  const held = addHeld(A);
  failing.add("listExpired");
  const run = runPasses(deps, clock.monotonicMs() + 70_000);
  await clock.advance(30_000);
  assert.equal(said.length, 1, said.join("\n"));
  failing.delete("listExpired");
  await clock.advance(10_000);
  assert.equal(job(held).status, "pending");
  await clock.advance(40_000);
  const { passes, failed, fenced, pending } = await run;
  assert.deepEqual([passes + failed, fenced, pending], [35, 1, 1]);
  assert.ok(failed >= 14 && failed <= 16, `${failed} failed`);
});

test("two runs at once give each job back once", async () => {
  const { clock, deps, shard, addHeld, job } = openWorld();
  await shard.workers.register(A, WORKER_LEASE_MS);
  const ids = Array.from({ length: 500 }, () => addHeld(A));
  const endMs = clock.monotonicMs() + 20_000;
  const runs = Promise.all([runPasses(deps, endMs), runPasses(deps, endMs)]);
  await clock.advance(25_000);
  const [first, second] = await runs;
  assert.equal(first.fenced + second.fenced, 1);
  assert.equal(first.pending + second.pending, ids.length);
  for (const id of ids) assert.equal(job(id).lost, 1);
});

test("a pause of very many jobs that was left half-way is finished, one that goes on by itself is let be", async () => {
  const { deps, passes, addHeld, job, beginPause, goOn, asked } = openWorld(StoreUnavailable, 1);
  const ids = Array.from({ length: 6 }, () => addHeld(A, { status: "pending", workerId: null }));
  const left = () => ids.filter((id) => job(id).status === "pending").length;
  await beginPause();
  const reconciler = new Reconciler(deps);
  for (const expected of [5, 4, 3]) {
    await passes(reconciler, 2);
    assert.equal(left(), expected);
    await goOn();
  }
  asked.length = 0;
  await passes(reconciler, 3);
  assert.equal(left(), 0);
  assert.ok(ids.every((id) => job(id).reason === REASON_PAUSED));
  assert.equal(asked.filter((verb) => verb === "goOnWithJobs").length, 2);
});

test("a change that cannot be finished now keeps nothing else waiting", async () => {
  const world = openWorld(StoreUnavailable, 1);
  const { shard, deps, passes, addHeld, job, beginPause, failing, said, clock } = world;
  const ids = Array.from({ length: 3 }, () => addHeld(A, { status: "pending", workerId: null }));
  await beginPause();
  await shard.workers.register(B, WORKER_LEASE_MS);
  const held = addHeld(B, { attempt: 1 });
  await clock.advance(WORKER_LEASE_MS + 1);
  failing.add("goOnWithJobs");
  const reconciler = new Reconciler(deps);
  assert.equal((await passes(reconciler, 3)).at(-1)?.fenced, 1);
  assert.equal(job(held).status, "pending");
  assert.match(said.join("\n"), /is not finished now; a later pass does it/);
  failing.clear();
  await clock.advance(PASS_PERIOD_MS);
  await passes(reconciler, 3);
  assert.ok(ids.every((id) => job(id).status === "cancelled"));
});

for (const groupMs of [10, 200, 1_000, 3_000])
  test(`while a pause of very many jobs is finished in groups of ${groupMs} ms, the next look at the leases is in time`, async () => {
    const world = openWorld(StoreUnavailable, 1, groupMs);
    const { clock, deps, addHeld, job, beginPause, asked } = world;
    const count = Math.ceil(8_000 / groupMs);
    const ids = Array.from({ length: count }, () =>
      addHeld(A, { status: "pending", workerId: null }),
    );
    await beginPause();
    const reconciler = new Reconciler(deps);
    for (let pass = 0, before = clock.monotonicMs(); pass < 40; pass++) {
      const { lookedMs } = await reconciler.passOnce();
      assert.ok(lookedMs - before <= Math.max(PASS_PERIOD_MS, groupMs), `${lookedMs - before} ms`);
      before = lookedMs;
      await clock.advance(Math.max(0, lookedMs + PASS_PERIOD_MS - clock.monotonicMs()));
    }
    assert.ok(ids.every((id) => job(id).status === "cancelled"));
    assert.ok(asked.includes("goOnWithJobs"));
  });
