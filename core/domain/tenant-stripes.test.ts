import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TenantId } from "./ids.ts";
import { firstStripeOf, type PRIORITIES, STRIPES } from "./queue.ts";
import { STRIPES_OF_ONE_MAX, TenantStripes } from "./tenant-stripes.ts";

const WINDOWS = 3;
const TENANTS = Array.from({ length: 40 }, (_, i) => `tenant-${i}` as TenantId);
const [ACME, GLOBEX] = ["acme", "globex"].map((id) => id as TenantId) as [TenantId, TenantId];

/** The stripes of `count` jobs in a row. */
function placeAll(
  stripes: TenantStripes,
  tenantId: TenantId,
  at: number,
  weight: number,
  count = 60,
) {
  return new Set(
    Array.from({ length: count }, (_, nth) => stripes.place(tenantId, "normal", at, weight, nth)),
  );
}

test("a tenant alone has as many stripes as it weighs, up to a bound, its own by hash first", () => {
  for (const [weight, count] of [
    [0.25, 1],
    [1, 1],
    [2.6, 3],
    [8, STRIPES_OF_ONE_MAX],
  ] as const) {
    const had = [...placeAll(new TenantStripes(WINDOWS), ACME, 7, weight)];
    assert.equal(had.length, count);
    assert.equal(had.includes(firstStripeOf(ACME)), true);
  }
});

test("up to thirteen tenants have a stripe each, whatever their hashes; those after them share", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(TENANTS, { minLength: 1 }), (tenants) => {
      const stripes = new TenantStripes(WINDOWS);
      const had = tenants.map((tenantId) => [...placeAll(stripes, tenantId, 7, 1)]);
      assert.ok(had.every(({ length }) => length === 1));
      assert.equal(new Set(had.flat()).size, Math.min(STRIPES, tenants.length));
      for (const [i, tenantId] of tenants.entries())
        assert.deepEqual([...placeAll(stripes, tenantId, 7, 1)], had[i], "and it stays");
    }),
  );
});

test("who weighs more leaves one of its stripes to who has none, never its last", () => {
  const stripes = new TenantStripes(WINDOWS);
  const [heavy, second, third, ...light] = TENANTS;
  assert.ok(heavy && second && third);
  const had = placeAll(stripes, heavy, 7, 8).size + placeAll(stripes, second, 7, 8).size;
  assert.equal(had, 2 * STRIPES_OF_ONE_MAX);
  placeAll(stripes, third, 7, 1);
  const owned = new Set([...placeAll(stripes, heavy, 7, 8), ...placeAll(stripes, second, 7, 8)]);
  const before = owned.size;
  for (const tenantId of light) placeAll(stripes, tenantId, 7, 1);
  const left = [heavy, second].map((tenantId) => placeAll(stripes, tenantId, 7, 8).size);
  assert.ok(left.every((count) => count >= 1) && (left[0] ?? 0) + (left[1] ?? 0) < before);
});

test("a stripe is free again for what is due later than its tenant's last, and earlier; priorities are apart", () => {
  const stripes = new TenantStripes(WINDOWS);
  const of = (tenantId: TenantId, at: number, priority: (typeof PRIORITIES)[number]) =>
    stripes.place(tenantId, priority, at, 1, 0);
  const twin = TENANTS.find((id) => firstStripeOf(id) === firstStripeOf(ACME)) ?? GLOBEX;
  const first = of(ACME, 7, "normal");
  assert.equal(first, firstStripeOf(twin), "both have the same by hash");
  assert.notEqual(of(twin, 7 + WINDOWS, "normal"), first);
  assert.equal(of(twin, 7, "high"), first);
  assert.equal(of(twin, 7 + WINDOWS + 1, "low"), first);
  const later = new TenantStripes(WINDOWS);
  later.place(ACME, "normal", 7, 1, 0);
  assert.equal(later.place(twin, "normal", 7 + WINDOWS + 1, 1, 0), first);
  assert.notEqual(later.place(ACME, "normal", 7 + WINDOWS + 1, 1, 0), first);
});
