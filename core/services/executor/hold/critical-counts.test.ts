import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { CriticalCounts } from "./critical-counts.ts";

const [STORM, HEAVY, QUIET] = ["storm", "heavy", "quiet"].map((id) => id as TenantId) as [
  TenantId,
  TenantId,
  TenantId,
];

test("who has more than its quota is counted for its quota: the others find room", () => {
  const counts = new CriticalCounts((id) => (id === HEAVY ? 2 : 1));
  for (let i = 0; i < 300; i++) counts.add(STORM);
  assert.deepEqual([counts.total, counts.free(8), counts.free(100)], [300, 6, 75]);
  assert.deepEqual(
    [counts.left(8, STORM), counts.left(8, QUIET), counts.left(8, HEAVY)],
    [0, 2, 4],
  );
  assert.equal(counts.free(100, 25), 96);
  for (let i = 0; i < 3; i++) counts.add(HEAVY);
  counts.add(QUIET);
  assert.deepEqual([counts.free(8), counts.left(8, HEAVY), counts.left(8, QUIET)], [2, 1, 1]);
  for (let i = 0; i < 299; i++) counts.remove(STORM);
  assert.deepEqual([counts.total, counts.free(8), counts.left(8, STORM)], [5, 3, 1]);
  counts.remove(STORM);
  assert.equal(counts.free(8), 4);
  assert.throws(() => counts.remove(STORM), /indicates a bug/);
});
