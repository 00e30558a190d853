import assert from "node:assert/strict";
import { test } from "node:test";
import type { APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { PrincipalStore } from "#core/ports/control-store.ts";
import { authorizeKey } from "./authorize.ts";

const KEY = "atcron_live";
const API = "arn:aws:execute-api:eu-west-1:123456789012:abc123/live";

async function storeWithKey(): Promise<PrincipalStore> {
  const store = new MemoryControlStore(systemClock);
  const tenant = "acme" as TenantId;
  await store.createTenant(tenant, "Acme");
  await store.createKey(systemDigest.sha256Hex(KEY), tenant, ["read"]);
  return store;
}

function ask(principals: PrincipalStore, headers: Record<string, string>) {
  const event = { methodArn: `${API}/GET/v1/tasks`, headers } as unknown;
  const deps = { principals, clock: systemClock, digest: systemDigest };
  return authorizeKey(deps, event as APIGatewayRequestAuthorizerEvent);
}

test("a live key may pass, for whatever it asks next, and is not repeated", async () => {
  const store = await storeWithKey();
  for (const name of ["x-api-key", "X-Api-Key"]) {
    const answer = await ask(store, { [name]: KEY });
    assert.equal(answer.principalId, "acme");
    assert.deepEqual(answer.policyDocument.Statement, [
      { Effect: "Allow", Action: "execute-api:Invoke", Resource: `${API}/*` },
    ]);
    assert.doesNotMatch(JSON.stringify(answer), /atcron_live/);
  }
});

test("another key, an endless one and none are what API Gateway answers 401 for", async () => {
  const store = await storeWithKey();
  for (const headers of [{ "x-api-key": "other" }, { "x-api-key": "k".repeat(201) }, {}])
    await assert.rejects(ask(store, headers), { message: "Unauthorized" });
});

test("a database that is away is no 401", async () => {
  const away: PrincipalStore = {
    findPrincipalByKeyHash: () => Promise.reject(new StoreUnavailable("away")),
    findPrincipalByArn: () => Promise.resolve(null),
  };
  await assert.rejects(ask(away, { "x-api-key": KEY }), StoreUnavailable);
});
