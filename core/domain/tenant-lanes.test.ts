import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "./ids.ts";
import { LANE_COUNTS_MAX, LANE_SHARE_JOBS, LANE_WINDOW_MS } from "./limits.ts";
import { LANES, priorityOfQueue } from "./queue.ts";
import { TenantLanes } from "./tenant-lanes.ts";

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
