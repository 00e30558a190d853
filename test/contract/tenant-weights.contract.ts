/** What every ControlStore must do with tenants' weights. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { makeTenant } from "./builders.ts";
import type { OpenControl } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

export function tenantWeightsContract(name: string, open: OpenControl): void {
  describe(`${name}: tenants' weights`, () => {
    test(
      "a weight is set and taken back, whole or not, and comes with the caller",
      onStore(open, async ({ control }) => {
        const id = makeTenant();
        await control.createTenant(id, id);
        const hash = randomBytes(32).toString("hex");
        await control.createKey(hash, id, ["write"]);
        for (const weight of [3, 0.25, 2.5, 2.5, null, null]) {
          const tenant = await control.setWeight(id, weight);
          assert.equal(tenant?.weight, weight ?? undefined);
          assert.equal("weight" in (tenant ?? {}), weight !== null);
          const found = await control.findPrincipalByKeyHash(hash);
          assert.equal(found?.quotas.weight, weight ?? undefined);
          assert.deepEqual(await control.listTenants(null, 9), [tenant]);
        }
        assert.equal(await control.setWeight(makeTenant(), 2), null);
      }),
    );

    test(
      "weights that are set are listed, by id, up to a bound; other tenants are not in the list",
      onStore(open, async ({ control }) => {
        for (const id of ["d", "b", "a", "c"] as TenantId[]) await control.createTenant(id, id);
        assert.deepEqual(await control.listWeights(9), new Map());
        const weights = new Map(Object.entries({ a: 8, c: 0.5, d: 1 })) as Map<TenantId, number>;
        for (const [id, weight] of weights) await control.setWeight(id, weight);
        assert.deepEqual(await control.listWeights(9), weights);
        assert.deepEqual([...(await control.listWeights(2)).keys()], ["a", "c"]);
        await control.setWeight("c" as TenantId, null);
        assert.deepEqual([...(await control.listWeights(9)).keys()], ["a", "d"]);
      }),
    );
  });
}
