/** What a reconciler does where jobs cannot be given back: one row that is locked, or a database that goes away meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { JobId } from "#core/domain/ids.ts";
import { PASS_PERIOD_MS, WORKER_LEASE_MS } from "#core/domain/limits.ts";
import { A, B, openWorld } from "#test/support/reconciler-world.ts";
import { Reconciler } from "./reconcile-pass.ts";

for (const pastBackstop of [false, true])
  test(`a row that cannot be written keeps no other from being rescued${pastBackstop ? ", past its backstop" : ", and no other death from being seen"}`, async () => {
    const { clock, shard, deps, addHeld, job } = openWorld();
    await shard.workers.register(A, pastBackstop ? 3_600_000 : WORKER_LEASE_MS);
    await shard.workers.register(B, pastBackstop ? 3_600_000 : 26_000);
    const all = [A, B].flatMap((worker) => Array.from({ length: 100 }, () => addHeld(worker)));
    if (pastBackstop) await clock.advance(60_001);
    const never = all[50];
    const { jobs } = shard;
    const rescue = jobs.rescue;
    jobs.rescue = async (keys, retention) => {
      if (!keys.some(({ id }) => id === never)) return rescue.call(jobs, keys, retention);
      await clock.advance(3_000);
      throw new StoreUnavailable("lock wait");
    };
    const reconciler = new Reconciler(deps);
    for (const endMs = clock.monotonicMs() + 70_000; clock.monotonicMs() < endMs; ) {
      const { lookedMs } = await reconciler.passOnce();
      assert.ok(clock.monotonicMs() - lookedMs <= 8_000, "a pass is bounded");
      await clock.advance(PASS_PERIOD_MS);
    }
    assert.deepEqual(
      all.filter((id) => job(id).status === "running"),
      [never],
    );
    jobs.rescue = rescue;
    await reconciler.passOnce();
    assert.equal(job(never as JobId).status, "pending");
  });

test("a database that goes away while jobs are given back makes the pass forget what it saw", async () => {
  const { clock, shard, deps, failing, addHeld, job, passes } = openWorld();
  for (const worker of [A, B]) await shard.workers.register(worker, WORKER_LEASE_MS);
  const [held, others] = [addHeld(A), addHeld(B)];
  await clock.advance(WORKER_LEASE_MS + 1);
  assert.equal(await shard.workers.fence(A), true);
  const reconciler = new Reconciler(deps);
  failing.add("rescue");
  await passes(reconciler, 2);
  failing.add("listPastBackstop");
  await assert.rejects(reconciler.passOnce(), StoreUnavailable);
  failing.clear();
  await passes(reconciler, 2);
  assert.deepEqual([job(held).status, job(others).status], ["pending", "running"]);
  await clock.advance(PASS_PERIOD_MS);
  assert.equal((await reconciler.passOnce()).pending, 1);
});
