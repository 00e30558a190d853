/** What every ControlStore must do. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import type { Principal } from "#core/ports/control-store.ts";
import { makeTenant } from "./builders.ts";
import type { OpenControl } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

/** Registers the whole suite of the ControlStore port for the adapter called `name`. */
export function controlStoreContract(name: string, open: OpenControl): void {
  describe(`${name}: control store`, () => {
    test(
      "a live key's hash answers its tenant and scopes",
      onStore(open, async ({ control, addKey }) => {
        const principal: Principal = { tenantId: makeTenant(), scopes: ["read", "write"] };
        const reader: Principal = { tenantId: makeTenant(), scopes: ["read"] };
        const [hash, other] = [keyHash(), keyHash()];
        await addKey(hash, principal);
        await addKey(other, reader);
        assert.deepEqual(await control.findPrincipalByKeyHash(hash), principal);
        assert.deepEqual(await control.findPrincipalByKeyHash(other), reader);
      }),
    );

    test(
      "a tenant may have two live keys; one that is removed answers nothing, the other still does",
      onStore(open, async ({ control, addKey, removeKey }) => {
        const principal: Principal = { tenantId: makeTenant(), scopes: ["admin"] };
        const [old, fresh] = [keyHash(), keyHash()];
        await addKey(old, principal);
        await addKey(fresh, principal);
        assert.deepEqual(await control.findPrincipalByKeyHash(old), principal);
        await removeKey(old);
        assert.equal(await control.findPrincipalByKeyHash(old), null);
        assert.deepEqual(await control.findPrincipalByKeyHash(fresh), principal);
      }),
    );

    test(
      "an unknown hash, and text that is no hash, answer nothing",
      onStore(open, async ({ control }) => {
        for (const hash of [keyHash(), "", "%", "' OR 1=1 -- ", "é😀", "f".repeat(10_000)]) {
          assert.equal(await control.findPrincipalByKeyHash(hash), null);
        }
      }),
    );
  });
}

function keyHash(): string {
  return createHash("sha256").update(randomBytes(16)).digest("hex");
}
