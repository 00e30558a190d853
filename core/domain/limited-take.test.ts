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

const job = (key: LimitKey, queue: number, offsetMs: number) => ({
  key,
  queue,
  dueAtMs: NOW_MS + offsetMs,
});

test("due first, critical before others and of a queue the longest, then what will be by time; at most jobsMax of a line", () => {
  const found = [job(A, 0, 900), job(A, 16, -5), job(A, 1, -1), job(A, 16, -7), job(A, 48, 300)];
  const other = [job(B, 32, -9), job(B, 32, -4), job(B, 16, 10)];
  const plan = planCalls([...found, ...other], [wanted(A, 4), wanted(B)], new Map(), {
    nowMs: NOW_MS,
    untilMs: NOW_MS + 2_000,
  });
  const inOrder = (key: LimitKey) =>
    plan.flatMap(({ item, startAtMs }) => (item.key === key ? [[item, startAtMs]] : []));
  assert.deepEqual(
    inOrder(A),
    [2, 3, 1, 4].map((at) => [found[at], null]),
  );
  assert.deepEqual(
    inOrder(B),
    other.map((item) => [item, null]),
  );
});

/** Of takes of what may start in so many ms, the part of those that a predicate tells. */
function partOf(
  found: readonly ReturnType<typeof job>[],
  take: { jobsMax: number; perSecond?: number; aheadMs?: number },
  isWanted: (one: ReturnType<typeof job>) => boolean,
): number {
  const { jobsMax, perSecond, aheadMs = 0 } = take;
  let taken = 0;
  let wantedOnes = 0;
  for (let i = 0; i < 3_000; i++) {
    const nowMs = NOW_MS + 200 * i;
    const rates = new Map(
      perSecond === undefined ? [] : [[ACME, new CallTimes(perSecond, nowMs)] as const],
    );
    const lines = [A, B].map((key) => wanted(key, jobsMax));
    const plan = planCalls(found, lines, rates, { nowMs, untilMs: nowMs + aheadMs });
    const counted = plan.filter(({ item }) => perSecond !== undefined || item.key === A);
    taken += counted.length;
    wantedOnes += counted.filter(({ item }) => isWanted(item)).length;
  }
  assert(taken > 0);
  return wantedOnes / taken;
}

function crowd(key: LimitKey, queue: number, count: number, offsetMs: number) {
  return Array.from({ length: count }, () => job(key, queue, offsetMs));
}

test("queues of a line share what is taken of it by their weights, be it one job a take or many, whatever other lines have", () => {
  const found = [
    ...crowd(A, 16, 20, -5),
    ...crowd(A, 17, 20, -5),
    ...crowd(A, 48, 20, -5),
    ...crowd(B, 16, 20, -900),
  ];
  for (const jobsMax of [1, 2, 20])
    for (const [queue, part] of [
      [16, 4 / 7],
      [17, 2 / 7],
      [48, 1 / 7],
    ] as const) {
      const had = partOf(found, { jobsMax }, (one) => one.queue === queue);
      assert(Math.abs(had - part) < 0.03, `${had} of queue ${queue}`);
    }
});

test("queues of a tenant's lines share its rate by their weights, and none is left unused", () => {
  const found = [...crowd(A, 16, 50, -5), ...crowd(B, 48, 50, -900)];
  for (const aheadMs of [0, 1_000, 9_000]) {
    const take = { jobsMax: 50, perSecond: 1, aheadMs };
    const had = partOf(found, take, ({ queue }) => queue === 16);
    assert(Math.abs(had - 6 / 7) < 0.03, `${had} of the more urgent`);
  }
  const rates = new Map([[ACME, new CallTimes(1, NOW_MS)]]);
  const until = { nowMs: NOW_MS, untilMs: NOW_MS + 60_000 };
  assert.equal(planCalls(found, [wanted(A), wanted(B)], rates, until).length, 61);
});

test("queues that several of a tenant's lines have share its rate as if these were one line", () => {
  const found = [A, B].flatMap((key) => [...crowd(key, 16, 50, -5), ...crowd(key, 48, 50, -900)]);
  for (const aheadMs of [0, 5_000]) {
    const take = { jobsMax: 50, perSecond: 1, aheadMs };
    const had = partOf(found, take, ({ queue }) => queue === 48);
    assert(Math.abs(had - 1 / 7) < 0.03, `${had} of the less urgent`);
  }
});

test("what an endpoint cannot call yet takes nothing of its tenant's rate from other lines", () => {
  const found = [...crowd(A, 0, 9, -900), ...crowd(B, 48, 50, -5)];
  const rates = new Map([
    [A, new CallTimes(0.5, NOW_MS + 2_000)],
    [ACME, new CallTimes(10, NOW_MS)],
  ]);
  const until = { nowMs: NOW_MS, untilMs: NOW_MS + 2_500 };
  const plan = planCalls(found, [wanted(A), wanted(B)], rates, until);
  assert.deepEqual(
    plan.map(({ startAtMs }) => startAtMs),
    Array.from({ length: 26 }, (_, i) => NOW_MS + 100 * i),
  );
  const ofEndpoint = plan.filter(({ item }) => item.key === A);
  assert.deepEqual(
    ofEndpoint.map(({ startAtMs }) => startAtMs),
    [NOW_MS + 2_000],
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
