import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { createKey } from "./create-key.ts";
import { createTenant } from "./create-tenant.ts";
import { mapPrincipal } from "./map-principal.ts";
import { readScopes } from "./read-scopes.ts";
import { setQuotas } from "./set-quotas.ts";
import { unmapPrincipal } from "./unmap-principal.ts";

const ACME = "acme" as TenantId;

async function withAcme() {
  const control = new MemoryControlStore({ nowMs: () => 1_800_000_000_000 });
  const deps = { control, random: systemRandom, digest: systemDigest };
  assert.equal((await createTenant(deps, ACME)).kind, "created");
  return deps;
}

test("a tenant's id and name are looked at before they are stored", async () => {
  const deps = await withAcme();
  const kindOf = async (id: string, name?: string) => (await createTenant(deps, id, name)).kind;
  assert.equal(await kindOf("acme", "another name"), "exists");
  assert.equal(await kindOf("a_1-b", "Ä 😀"), "created");
  for (const id of ["", "A", "-a", "a b", "a/b", "é", "x".repeat(65)])
    assert.equal(await kindOf(id), "invalid", id);
  for (const name of ["", " a", "a\nb", "a\u001b[2J", "\ud800", "x".repeat(201)])
    assert.equal(await kindOf("other", name), "invalid", JSON.stringify(name));
  assert.deepEqual(
    (await deps.control.listTenants(null, 9)).map(({ id, name }) => [id, name]),
    [
      ["a_1-b", "Ä 😀"],
      ["acme", "acme"],
    ],
  );
});

test("a key is 256 random bits behind a prefix, stored as their hash only", async () => {
  const deps = await withAcme();
  const made = await Promise.all([
    createKey(deps, ACME, ["read"]),
    createKey(deps, ACME, ["read"]),
  ]);
  const secrets = made.map((each) => {
    assert.ok(each.kind === "created");
    assert.doesNotMatch(JSON.stringify(each), /atcron_/);
    return each.secret.reveal();
  });
  for (const secret of secrets) {
    assert.match(secret, /^atcron_[0-9a-hjkmnp-tv-z]{52}$/);
    const found = await deps.control.findPrincipalByKeyHash(systemDigest.sha256Hex(secret));
    assert.equal(found?.tenantId, ACME);
    assert.ok(!JSON.stringify(await deps.control.listKeys(ACME)).includes(secret));
  }
  assert.notEqual(secrets[0], secrets[1]);
  assert.equal((await createKey(deps, ACME, ["read"])).kind, "too-many");
  assert.equal((await createKey(deps, "nobody" as TenantId, ["read"])).kind, "no-such-tenant");
});

test("quotas stay inside their bounds, and one that is not stops all", async () => {
  const deps = await withAcme();
  const set = (quotas: Parameters<typeof setQuotas>[2]) => setQuotas(deps, ACME, quotas);
  for (const [quota, bad] of [
    ["tasksMax", -1],
    ["tasksMax", 10_000_001],
    ["bodyBytesMax", 262_145],
    ["minIntervalSeconds", 0],
    ["minIntervalSeconds", 1.5],
    ["minIntervalSeconds", Number.NaN],
  ] as const) {
    const answer = await set({ tasksMax: 1, [quota]: bad });
    assert.ok(answer.kind === "out-of-bounds" && answer.quota === quota, `${quota} ${bad}`);
  }
  assert.equal((await deps.control.listTenants(null, 1))[0]?.quotas.tasksMax, null);
  const edge = { tasksMax: 0, bodyBytesMax: 262_144, minIntervalSeconds: 366 * 86_400 };
  const answer = await set(edge);
  assert.ok(answer.kind === "set");
  assert.deepEqual(answer.tenant.quotas, edge);
  assert.equal((await setQuotas(deps, "nobody" as TenantId, {})).kind, "no-such-tenant");
});

test("scopes are read in any order and form, and kept in one", () => {
  assert.deepEqual(readScopes("write,read"), ["read", "write"]);
  assert.deepEqual(readScopes(" admin , admin,read "), ["read", "admin"]);
  for (const text of ["", ",", "read,", "READ", "read write", "all", "*"])
    assert.equal(readScopes(text), null, text);
});

test("a principal is mapped by any of its ARNs and unmapped by any other", async () => {
  const deps = await withAcme();
  const role = "arn:aws:iam::123456789012:role/path/Caller";
  const session = "arn:aws:sts::123456789012:assumed-role/Caller/x";
  assert.equal((await mapPrincipal(deps, role, ACME, ["read"])).kind, "mapped");
  assert.equal((await mapPrincipal(deps, "nonsense", ACME, ["read"])).kind, "not-an-arn");
  const unmapped = await unmapPrincipal(deps, session);
  assert.deepEqual(unmapped, {
    kind: "unmapped",
    arn: "arn:aws:iam::123456789012:role/Caller",
  });
  assert.equal((await unmapPrincipal(deps, session)).kind, "not-mapped");
  assert.equal((await unmapPrincipal(deps, "nonsense")).kind, "not-an-arn");
});
