import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TENANT_WEIGHT_MAX } from "./limits.ts";
import { criticalQuota, isTenantWeight, TENANT_WEIGHT_MIN } from "./tenant-weight.ts";

test("a weight is from a quarter to eight, whole or not", () => {
  for (const weight of [0.25, 1, 2.5, 8]) assert.ok(isTenantWeight(weight), String(weight));
  for (const weight of [0, 0.24, -1, 8.1, Number.NaN, Number.POSITIVE_INFINITY])
    assert.ok(!isTenantWeight(weight), String(weight));
});

test("a tenant's quota of what is kept for critical jobs: a quarter by its weight, at least one, never all of several", () => {
  assert.deepEqual(
    [0.25, 1, 2, 3, 8].map((weight) => criticalQuota(8, weight)),
    [1, 2, 4, 6, 7],
  );
  assert.equal(criticalQuota(100, 1), 25);
  const weight = fc.double({ min: TENANT_WEIGHT_MIN, max: TENANT_WEIGHT_MAX, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_250 }), weight, (total, of) => {
      const quota = criticalQuota(total, of);
      assert.ok(Number.isInteger(quota) && quota >= 1);
      assert.ok(total === 1 ? quota === 1 : quota < total);
    }),
  );
});
