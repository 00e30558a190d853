import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TenantId } from "./ids.ts";
import {
  HORIZON_MS_MAX,
  LANE_COUNTS_MAX,
  LANE_SHARE_CRITICAL_JOBS,
  LANE_SHARE_JOBS,
  LANE_WINDOW_MS,
  RETRY_AHEAD_MS_MAX,
  TENANT_WEIGHT_MAX,
} from "./limits.ts";
import { LANES, PRIORITIES, priorityOfQueue } from "./queue.ts";
import { TenantLanes } from "./tenant-lanes.ts";
import { STRIPES_OF_ONE_MAX } from "./tenant-stripes.ts";
import { TENANT_WEIGHT_MIN } from "./tenant-weight.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const ACME = "acme" as TenantId;
const QUIET = "quiet" as TenantId;

test("a burst goes down the lanes: its share, up to 4 times, up to 16 times, then the tenant's stripe", () => {
  const lanes = new TenantLanes();
  const counts = new Map<number, number>();
  for (let i = 0; i < 2_000; i++) {
    const queue = lanes.place(ACME, "normal", NOW_MS);
    assert.equal(priorityOfQueue(queue), "normal");
    counts.set(queue % LANES, (counts.get(queue % LANES) ?? 0) + 1);
  }
  const [first, second, third, stripe] = [...counts.entries()];
  const share = LANE_SHARE_JOBS;
  assert.deepEqual(
    [first, second, third],
    [
      [0, share],
      [1, 3 * share],
      [2, 12 * share],
    ],
  );
  assert.ok(stripe !== undefined && stripe[0] >= 3 && stripe[1] === 2_000 - 16 * share);
  assert.equal(counts.size, 4);
});

test("of critical jobs a tenant's share is its quota: two a second are within it for ever, a burst is not", () => {
  const lanes = new TenantLanes();
  const steady = Array.from({ length: 400 }, (_, i) =>
    lanes.place(QUIET, "critical", NOW_MS + i * 500),
  );
  assert.ok(steady.every((queue) => queue === 0));
  const burst = Array.from({ length: 700 }, () => lanes.place(ACME, "critical", NOW_MS));
  const share = LANE_SHARE_CRITICAL_JOBS;
  const edges = [share - 1, share, 4 * share - 1, 4 * share, 16 * share - 1];
  assert.deepEqual(
    edges.map((i) => burst[i]),
    [0, 1, 1, 2, 2],
  );
  assert.ok((burst[16 * share] ?? 0) >= 3);
});

test("whatever the weights: a share is as large as the weight, what is beyond it goes over as many stripes, evenly", () => {
  const weight = fc.double({ min: TENANT_WEIGHT_MIN, max: TENANT_WEIGHT_MAX, noNaN: true });
  fc.assert(
    fc.property(weight, fc.constantFrom(...PRIORITIES), (of, priority) => {
      const lanes = new TenantLanes(() => of);
      const share = (priority === "critical" ? LANE_SHARE_CRITICAL_JOBS : LANE_SHARE_JOBS) * of;
      const counts = new Map<number, number>();
      const stripes = Math.min(STRIPES_OF_ONE_MAX, Math.max(1, Math.round(of)));
      const beyond = 30 * stripes;
      for (let i = 0; i < Math.ceil(16 * share) + beyond; i++) {
        const queue = lanes.place(ACME, priority, NOW_MS);
        assert.equal(priorityOfQueue(queue), priority);
        counts.set(queue % LANES, (counts.get(queue % LANES) ?? 0) + 1);
      }
      assert.equal(counts.get(0), Math.ceil(share));
      assert.equal(counts.get(1), Math.ceil(4 * share) - Math.ceil(share));
      assert.equal(counts.get(2), Math.ceil(16 * share) - Math.ceil(4 * share));
      const each = [...counts].filter(([lane]) => lane > 2).map(([, count]) => count);
      assert.deepEqual(
        each,
        Array.from({ length: stripes }, () => beyond / stripes),
      );
    }),
    { numRuns: 30 },
  );
});

test("a weight that is given with the job goes before the one that is known", () => {
  const lanes = new TenantLanes(() => TENANT_WEIGHT_MIN);
  for (let i = 0; i < LANE_SHARE_JOBS; i++)
    assert.equal(lanes.place(ACME, "normal", NOW_MS, 1), 32);
  assert.equal(lanes.place(ACME, "normal", NOW_MS, 1), 33);
  assert.equal(lanes.place(ACME, "normal", NOW_MS), 34);
  assert.equal(lanes.place(ACME, "normal", NOW_MS, 3), 32);
});

test("tenants and priorities are counted apart", () => {
  const lanes = new TenantLanes();
  for (let i = 0; i < 5_000; i++) lanes.place(ACME, "normal", NOW_MS);
  assert.equal(lanes.place(QUIET, "normal", NOW_MS), 32);
  assert.equal(lanes.place(ACME, "high", NOW_MS), 16);
});

test("what is due long before or after is not in front; jobs made ahead of their time are spread over it", () => {
  const lanes = new TenantLanes();
  for (let i = 0; i < 5_000; i++) lanes.place(ACME, "normal", NOW_MS);
  assert.notEqual(lanes.place(ACME, "normal", NOW_MS + LANE_WINDOW_MS), 32);
  assert.equal(lanes.place(ACME, "normal", NOW_MS + 4 * LANE_WINDOW_MS), 32);
  assert.equal(lanes.place(ACME, "normal", NOW_MS - LANE_WINDOW_MS), 32);
  const everySecond = Array.from({ length: 300 }, (_, i) =>
    lanes.place(QUIET, "normal", NOW_MS + i * 1_000),
  );
  assert.ok(everySecond.every((queue) => queue === 32));
});

test("what is counted is bounded, and the earliest is forgotten first", () => {
  const lanes = new TenantLanes();
  for (let i = 0; i < 1_000; i++) lanes.place(ACME, "low", NOW_MS);
  for (let i = 0; i < LANE_COUNTS_MAX; i++)
    lanes.place(`t${i}` as TenantId, "low", NOW_MS + LANE_WINDOW_MS);
  assert.equal(lanes.place(ACME, "low", NOW_MS), 48);
});

test("a month of a light, steady load is counted like its first day, and forgets nothing that is due", () => {
  const lanes = new TenantLanes();
  const windows = (30 * 86_400_000) / LANE_WINDOW_MS;
  let atMs = NOW_MS;
  for (let i = 0; i < windows; i++, atMs += LANE_WINDOW_MS)
    assert.equal(lanes.place(QUIET, "normal", atMs), 32);
  for (let i = 0; i < LANE_SHARE_JOBS; i++) lanes.place(ACME, "normal", atMs);
  lanes.place(QUIET, "normal", atMs + HORIZON_MS_MAX);
  lanes.place(QUIET, "normal", atMs + RETRY_AHEAD_MS_MAX);
  assert.equal(lanes.place(ACME, "normal", atMs), 33, "a job made ahead forgets nothing of now");
});
