import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { TENANT_WEIGHTS_AGAIN_MS, TENANT_WEIGHTS_MAX } from "#core/domain/limits.ts";
import { setWeight } from "./set-weight.ts";
import { TenantWeights } from "./tenant-weights.ts";

const [ACME, NOBODY] = ["acme" as TenantId, "nobody" as TenantId];

async function withAcme(): Promise<MemoryControlStore> {
  const control = new MemoryControlStore({ nowMs: () => 1_800_000_000_000 });
  await control.createTenant(ACME, ACME);
  return control;
}

test("a weight stays inside its bounds", async () => {
  const control = await withAcme();
  for (const bad of [0, -1, 0.2, 8.01, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal((await setWeight({ control }, ACME, bad)).kind, "out-of-bounds", String(bad));
  assert.equal((await control.listWeights(9)).size, 0);
  for (const weight of [0.25, 8, null]) {
    const set = await setWeight({ control }, ACME, weight);
    assert.ok(set.kind === "set");
    assert.equal(set.tenant.weight, weight ?? undefined);
  }
  assert.equal((await setWeight({ control }, NOBODY, 1)).kind, "no-such-tenant");
});

test("what is read holds until it is read again, also while that fails; who has none weighs one", async () => {
  const control = await withAcme();
  let isAway = false;
  const asked: number[] = [];
  const weights = new TenantWeights({
    listWeights: async (limit) => {
      asked.push(limit);
      if (isAway) throw new StoreUnavailable("away", { cause: null });
      return control.listWeights(limit);
    },
  });
  await setWeight({ control }, ACME, 3);
  assert.equal(weights.weightOf(ACME), 1, "nothing was read");
  assert.equal(await weights.readOnce(), TENANT_WEIGHTS_AGAIN_MS);
  assert.deepEqual([weights.weightOf(ACME), weights.weightOf(NOBODY)], [3, 1]);
  isAway = true;
  await assert.rejects(weights.readOnce(), StoreUnavailable);
  assert.equal(weights.weightOf(ACME), 3);
  isAway = false;
  await setWeight({ control }, ACME, null);
  assert.equal(weights.weightOf(ACME), 3);
  await weights.readOnce();
  assert.equal(weights.weightOf(ACME), 1);
  assert.deepEqual(new Set(asked), new Set([TENANT_WEIGHTS_MAX]));
});
