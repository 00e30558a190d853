import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LimitKey } from "./call-limit.ts";
import { CallTimes, mayTake, nextCallMs, planCalls, slotsWanted } from "./limited-take.ts";
import { CLAIM_AHEAD_MS, LIMIT_START_AHEAD_MS, POLL_PERIOD_MS_MAX } from "./limits.ts";

const NOW_MS = 1_780_000_000_000;
const [A, B, ACME] = ["acme|https://a:443", "acme|https://b:443", "acme"] as LimitKey[] as [
  LimitKey,
  LimitKey,
  LimitKey,
];

const wanted = (key: LimitKey, jobsMax = 100) => ({ key, jobsMax, slotsMax: 3, tenantSlotsMax: 4 });

test("slots are wanted of each line and of its tenant, in the order of the keys", () => {
  assert.deepEqual([...slotsWanted([])], []);
  assert.deepEqual(
    [...slotsWanted([wanted(B), { ...wanted(A), tenantSlotsMax: 9 }])],
    [
      [ACME, 9],
      [A, 3],
      [B, 3],
    ],
  );
  assert.deepEqual([...slotsWanted([wanted(ACME)])], [[ACME, 3]]);
  assert.deepEqual(slotsWanted([wanted(ACME), wanted(A)]).get(ACME), 4);
});

test("jobs are taken with a slot of the line and one of the tenant, where it has a limit", () => {
  const limit = { concurrency: 1, perSecond: null };
  const held = (line: number, tenant: number | null) => (key: LimitKey) =>
    key === ACME
      ? { limit: tenant === null ? null : limit, slots: tenant ?? 0 }
      : { limit, slots: line };
  assert.equal(mayTake(A, held(1, null)), true);
  assert.equal(mayTake(A, held(1, 1)), true);
  assert.equal(mayTake(A, held(1, 0)), false);
  assert.equal(mayTake(A, held(0, null)), false);
  assert.equal(
    mayTake(A, () => ({ limit: null, slots: 0 })),
    false,
  );
  assert.equal(mayTake(ACME, held(0, 1)), true);
});

test("due first by queue, then what will be by time; at most jobsMax of a line", () => {
  const job = (key: LimitKey, queue: number, offsetMs: number) => ({
    key,
    queue,
    dueAtMs: NOW_MS + offsetMs,
  });
  const found = [job(A, 0, 900), job(A, 16, -5), job(B, 32, -9), job(A, 16, -7), job(A, 48, 300)];
  const plan = planCalls(found, [wanted(A, 3), wanted(B)], new Map(), {
    nowMs: NOW_MS,
    untilMs: NOW_MS + 2_000,
  });
  assert.deepEqual(
    plan.map(({ item, startAtMs }) => [found.indexOf(item), startAtMs]),
    [
      [3, null],
      [1, null],
      [2, null],
      [4, null],
    ],
  );
});

test("a rate is exact: over any ten seconds within one call of it, of a line and of its tenant", () => {
  const rate = fc.constantFrom(0.01, 0.3, 1, 7, 33.3, 300, 999, 1_000);
  const property = fc.property(rate, rate, fc.nat({ max: 3_000 }), (own, tenant, stepMs) => {
    // More than may start in the two seconds that a take goes ahead.
    const jobs = Math.ceil(2 * Math.min(own, tenant)) + 2;
    const found = Array.from({ length: jobs }, (_, i) => ({
      key: A,
      queue: 0,
      dueAtMs: NOW_MS - i,
    }));
    const starts: number[] = [];
    const next = { own: 0, tenant: 0 };
    // Takes as executors make them: some ahead of time, at any instant, one after the other.
    for (let nowMs = NOW_MS; nowMs < NOW_MS + 30_000; nowMs += 50 + stepMs) {
      const rates = new Map([
        [A, new CallTimes(own, Math.max(next.own, nowMs))],
        [ACME, new CallTimes(tenant, Math.max(next.tenant, nowMs))],
      ]);
      const until = { nowMs, untilMs: nowMs + 2_000 };
      for (const { startAtMs } of planCalls(found, [wanted(A, jobs)], rates, until)) {
        assert(startAtMs !== null && startAtMs >= nowMs && startAtMs <= nowMs + 2_000);
        starts.push(startAtMs);
      }
      next.own = rates.get(A)?.nextMs ?? 0;
      next.tenant = rates.get(ACME)?.nextMs ?? 0;
    }
    const slower = Math.min(own, tenant);
    let to = 0;
    for (let at = 0; at < starts.length; at++) {
      while (to < starts.length && (starts[to] ?? 0) < (starts[at] ?? 0) + 10_000) to++;
      assert(to - at <= slower * 10 + 1, `${to - at} calls in 10 s at ${slower}/s`);
    }
    // What is taken two seconds ahead at every step leaves no gap.
    if (stepMs < 1_900) assert(starts.length >= slower * 28, `${starts.length} at ${slower}/s`);
  });
  fc.assert(property, { numRuns: 100 });
});

test("the next call is when the last take has noted, but for what no take of this rate notes: that is due where this one ends", () => {
  const until = { nowMs: NOW_MS, untilMs: NOW_MS + 2_200 };
  const next = (offsetMs: number, perSecond: number) =>
    nextCallMs(NOW_MS + offsetMs, perSecond, until) - NOW_MS;
  const takenMs = POLL_PERIOD_MS_MAX + CLAIM_AHEAD_MS + LIMIT_START_AHEAD_MS;
  assert.equal(next(-5_000, 5), 0);
  assert.equal(next(700, 5), 700);
  assert.equal(next(takenMs + 200, 5), takenMs + 200);
  assert.equal(next(takenMs + 100_000, 0.01), takenMs + 100_000);
  assert.equal(next(takenMs + 201, 5), 2_200);
  assert.equal(next(3_600_000, 0.01), 2_200);
});
