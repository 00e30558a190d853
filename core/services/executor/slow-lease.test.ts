/** The lease where the database is slow to answer, or one answer never comes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OutcomeUnknown } from "#core/domain/errors.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import { RENEW_PERIOD_MS, RENEW_RETRY_MS } from "#core/domain/limits.ts";
import type { WorkerStore } from "#core/ports/worker-store.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { Lease } from "./lease.ts";

/**
 * A lease that is renewed for a minute as the executor's loop does it, by a store that takes `answerMs(n)` for its nth answer. Tells which
 * ids there were rows of, when calls might start, and how often the lease lapsed.
 */
async function watchLease(answerMs: (n: number) => number) {
  const clock = new ManualClock();
  const rows = new Set<WorkerId>();
  let asked = 0;
  const answer = async (deadlineMs = 1_000) => {
    const afterMs = answerMs(asked++);
    await clock.sleep(Math.min(afterMs, deadlineMs));
    if (afterMs >= deadlineMs) throw new OutcomeUnknown("not answered in time");
  };
  const workers: Pick<WorkerStore, "register" | "renew"> = {
    register: async (id, _leaseMs, deadlineMs) => {
      rows.add(id);
      await answer(deadlineMs);
    },
    renew: async (_id, _leaseMs, deadlineMs) => {
      await answer(deadlineMs);
      return { kind: "renewed" };
    },
  };
  let next = 0;
  const random = { bytes: (n: number) => new Uint8Array(n).fill(++next), unit: () => 0.5 };
  const lease = new Lease({ clock, random, workers: workers as WorkerStore });
  const stop = new AbortController();
  const loop = (async () => {
    while (!stop.signal.aborted) {
      const sentMs = clock.monotonicMs();
      const delayMs = await lease.renewOnce().then(
        () => Math.max(0, sentMs + RENEW_PERIOD_MS - clock.monotonicMs()),
        () => RENEW_RETRY_MS,
      );
      await clock.sleep(delayMs, stop.signal);
    }
  })();
  let startable = 0;
  for (let n = 0; n < 600; n++) {
    await clock.advance(100);
    lease.notePoll(clock.monotonicMs());
    if (lease.mayStart()) startable++;
  }
  const { lapses } = lease;
  stop.abort();
  await clock.advance(10_000);
  await loop;
  return { ids: rows.size, startableOf: startable / 600, lapses };
}

test("a database whose COMMITs last up to 1.7 s costs no lease, and no more than one row", async () => {
  for (const commitMs of [0, 700, 1_100, 1_500, 1_700]) {
    const { ids, startableOf, lapses } = await watchLease(() => commitMs);
    assert.deepEqual([ids, lapses], [1, 0], `${commitMs} ms`);
    assert.ok(startableOf > 0.95, `${commitMs} ms: ${startableOf}`);
  }
});

test("… nor do those of up to 2.4 s, but for the first after quick ones", async () => {
  for (const commitMs of [1_900, 2_200, 2_400]) {
    const { ids, startableOf, lapses } = await watchLease(() => commitMs);
    assert.deepEqual([ids, lapses], [1, 0], `${commitMs} ms`);
    assert.ok(startableOf > 0.95, `${commitMs} ms: ${startableOf}`);
    const later = await watchLease((n) => (n < 5 ? 20 : commitMs));
    assert.ok(later.lapses <= 1, `${commitMs} ms later: ${later.lapses}`);
    assert.ok(later.startableOf > 0.9, `${commitMs} ms later: ${later.startableOf}`);
  }
});

test("… and where they last longer it still starts calls now and then, under its first id", async () => {
  for (const commitMs of [2_000, 2_500, 3_500]) {
    const { ids, startableOf } = await watchLease(() => commitMs);
    assert.equal(ids, 1);
    assert.ok(startableOf > 0.25, `${commitMs} ms: ${startableOf}`);
  }
  const { ids } = await watchLease(() => 20_000);
  assert.equal(ids, 1, "one that is never answered is one row all the same");
});

test("one renewal that is never answered stops nothing", async () => {
  for (const lost of [1, 2, 7]) {
    const { lapses } = await watchLease((n) => (n === lost ? Number.POSITIVE_INFINITY : 20));
    assert.equal(lapses, 0);
  }
});
