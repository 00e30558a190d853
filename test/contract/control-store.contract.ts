/** What every ControlStore must do. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TenantId } from "#core/domain/ids.ts";
import type { KeyId } from "#core/domain/key-id.ts";
import { keyIdOfHash } from "#core/domain/key-id.ts";
import { BODY_BYTES_MAX, KEYS_LISTED_MAX } from "#core/domain/limits.ts";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import type { ApiKey, ControlStore, Scope } from "#core/ports/control-store.ts";
import { AWKWARD, makeTenant } from "./builders.ts";
import type { OpenControl } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";
import { tenantWeightsContract } from "./tenant-weights.contract.ts";

const NO_CHOICE = { tasksMax: null, bodyBytesMax: null, minIntervalSeconds: null };
const ARN = "arn:aws:iam::123456789012:role/Caller";

/** Registers the whole suite of the ControlStore port for the adapter called `name`. */
export function controlStoreContract(name: string, open: OpenControl): void {
  tenantsContract(name, open);
  keysContract(name, open);
  principalsContract(name, open);
  tenantWeightsContract(name, open);
}

function tenantsContract(name: string, open: OpenControl): void {
  describe(`${name}: tenants`, () => {
    test(
      "a new tenant is active and follows the default quotas",
      onStore(open, async ({ control }) => {
        const id = makeTenant();
        const tenant = await control.createTenant(id, AWKWARD);
        assert.ok(tenant);
        const { createdAtMs, ...rest } = tenant;
        assert.ok(createdAtMs > Date.UTC(2026, 0, 1));
        assert.deepEqual(rest, { id, name: AWKWARD, status: "active", quotas: NO_CHOICE });
        assert.deepEqual(await control.listTenants(null, 10), [tenant]);
      }),
    );

    test(
      "an id is given once, whoever comes first",
      onStore(open, async ({ control }) => {
        const id = makeTenant();
        const made = await Promise.all(
          Array.from({ length: 5 }, (_, n) => control.createTenant(id, `name ${n}`)),
        );
        const tenants = made.filter((tenant) => tenant !== null);
        assert.equal(tenants.length, 1);
        assert.deepEqual(await control.listTenants(null, 10), tenants);
        assert.equal(await control.createTenant(id, tenants[0]?.name ?? ""), null);
      }),
    );

    test(
      "tenants are listed by id, page by page",
      onStore(open, async ({ control }) => {
        const ids = ["b", "a-1", "a", "a_1", "a0", "c"] as TenantId[];
        for (const id of ids) await control.createTenant(id, id);
        const listed: TenantId[] = [];
        for (let after: TenantId | null = null; ; ) {
          const page = await control.listTenants(after, 4);
          listed.push(...page.map(({ id }) => id));
          if (page.length < 4) break;
          after = listed.at(-1) ?? null;
        }
        assert.deepEqual(listed, ["a", "a-1", "a0", "a_1", "b", "c"]);
      }),
    );

    test(
      "quotas are set one by one and taken back; the others stay",
      onStore(open, async ({ control }) => {
        const [id, other] = [makeTenant(), makeTenant()];
        await control.createTenant(id, id);
        await control.createTenant(other, other);
        const set = async (quotas: Parameters<typeof control.setQuotas>[1]) =>
          (await control.setQuotas(id, quotas))?.quotas;
        assert.deepEqual(await set({ tasksMax: 0, minIntervalSeconds: 60 }), {
          ...NO_CHOICE,
          tasksMax: 0,
          minIntervalSeconds: 60,
        });
        const all = { tasksMax: 10_000_000, bodyBytesMax: BODY_BYTES_MAX, minIntervalSeconds: 60 };
        assert.deepEqual(await set({ tasksMax: 10_000_000, bodyBytesMax: BODY_BYTES_MAX }), all);
        assert.deepEqual(await set({}), all);
        assert.deepEqual(await set(all), all, "the same again");
        assert.deepEqual(await set({ bodyBytesMax: null }), { ...all, bodyBytesMax: null });
        assert.equal(await control.setQuotas(makeTenant(), { tasksMax: 1 }), null);
        const [unchanged] = (await control.listTenants(null, 9)).filter((t) => t.id === other);
        assert.deepEqual(unchanged?.quotas, NO_CHOICE);
      }),
    );

    test(
      "caps of endpoints are set one by one and taken back, and come with the caller",
      onStore(open, async ({ control }) => {
        const { tenantId, keys } = await withKeys(control, ["read"]);
        const set = async (limit: Parameters<typeof control.setEndpointLimit>[1]) => {
          const tenant = await control.setEndpointLimit(tenantId, limit);
          const found = await control.findPrincipalByKeyHash(keys[0]?.hash ?? "");
          assert.deepEqual(found?.quotas.endpointLimit, tenant?.endpointLimit);
          assert.deepEqual((await control.listTenants(null, 9)).at(0), tenant);
          return tenant?.endpointLimit;
        };
        assert.equal(await set({}), undefined);
        assert.deepEqual(await set({ concurrency: 5 }), { concurrency: 5, perSecond: null });
        assert.deepEqual(await set({ perSecond: 0.15 }), { concurrency: 5, perSecond: 0.15 });
        assert.deepEqual(await set({ concurrency: null }), { concurrency: null, perSecond: 0.15 });
        assert.equal(await set({ perSecond: null }), undefined);
        assert.equal(await control.setEndpointLimit(makeTenant(), { concurrency: 1 }), null);
      }),
    );

    test(
      "default caps of endpoints hold where a tenant has no number of its own",
      onStore(open, async ({ control }) => {
        const { tenantId, keys } = await withKeys(control, ["read"]);
        const arn = "arn:aws:iam::123456789012:role/Caller";
        await control.mapPrincipal(arn, tenantId, ["read"]);
        const holds = async () => {
          const found = await control.findPrincipalByKeyHash(keys[0]?.hash ?? "");
          assert.deepEqual((await control.findPrincipalByArn(arn))?.quotas, found?.quotas);
          return found?.quotas.endpointLimit;
        };
        const none = { concurrency: null, perSecond: null };
        assert.deepEqual(await control.setDefaultEndpointLimit({}), none);
        assert.equal(await holds(), undefined);
        const set = { concurrency: 50, perSecond: null };
        assert.deepEqual(await control.setDefaultEndpointLimit({ concurrency: 50 }), set);
        assert.deepEqual(await control.setDefaultEndpointLimit({}), set);
        assert.deepEqual(await holds(), set);
        await control.setDefaultEndpointLimit({ perSecond: 0.15 });
        assert.deepEqual(await holds(), { concurrency: 50, perSecond: 0.15 });
        await control.setEndpointLimit(tenantId, { concurrency: 200 });
        assert.deepEqual(await holds(), { concurrency: 200, perSecond: 0.15 });
        const [tenant] = await control.listTenants(null, 1);
        assert.deepEqual(tenant?.endpointLimit, { concurrency: 200, perSecond: null });
        await control.setEndpointLimit(tenantId, { concurrency: null });
        await control.setDefaultEndpointLimit({ perSecond: null });
        assert.deepEqual(await holds(), set);
        assert.deepEqual(await control.setDefaultEndpointLimit({ concurrency: null }), none);
        assert.equal(await holds(), undefined);
      }),
    );

    test(
      "a tenant is disabled and enabled, as often as one likes",
      onStore(open, async ({ control }) => {
        const id = makeTenant();
        await control.createTenant(id, id);
        for (const status of ["disabled", "disabled", "active", "active"] as const) {
          assert.equal((await control.setTenantStatus(id, status))?.status, status);
          assert.equal((await control.listTenants(null, 1))[0]?.status, status);
        }
        assert.equal(await control.setTenantStatus(makeTenant(), "disabled"), null);
      }),
    );
  });
}

/** A tenant with a live key for each of `scopes`: the hashes, in that order. */
async function withKeys(control: ControlStore, ...scopes: readonly Scope[][]) {
  const tenantId = makeTenant();
  await control.createTenant(tenantId, tenantId);
  const keys: { readonly hash: string; readonly key: ApiKey }[] = [];
  for (const each of scopes) {
    const hash = keyHash();
    const created = await control.createKey(hash, tenantId, each);
    assert.ok(created.kind === "created", created.kind);
    keys.push({ hash, key: created.key });
    // Those of one millisecond are in the order of their hashes.
    await sleep(2);
  }
  return { tenantId, keys };
}

function keysContract(name: string, open: OpenControl): void {
  describe(`${name}: API keys`, () => {
    test(
      "a live key's hash answers its tenant, scopes, quotas and the tenant's status",
      onStore(open, async ({ control }) => {
        const { tenantId, keys } = await withKeys(control, ["read", "write"]);
        const reader = await withKeys(control, ["read"]);
        const find = (hash = "") => control.findPrincipalByKeyHash(hash);
        const known = {
          tenantId,
          scopes: ["read", "write"],
          quotas: QUOTAS_DEFAULT,
          tenantStatus: "active",
        };
        assert.deepEqual(await find(keys[0]?.hash), known);
        await control.setQuotas(tenantId, { tasksMax: 7 });
        await control.setTenantStatus(tenantId, "disabled");
        assert.deepEqual(await find(keys[0]?.hash), {
          ...known,
          quotas: { ...QUOTAS_DEFAULT, tasksMax: 7 },
          tenantStatus: "disabled",
        });
        assert.deepEqual(await find(reader.keys[0]?.hash), {
          ...known,
          tenantId: reader.tenantId,
          scopes: ["read"],
        });
      }),
    );

    test(
      "two keys of the same scopes may live, others beside them; one that is revoked makes room",
      onStore(open, async ({ control }) => {
        const { tenantId, keys } = await withKeys(control, ["admin"], ["admin"], ["read"]);
        const [old, fresh] = keys;
        assert.ok(old && fresh);
        const refused = await control.createKey(keyHash(), tenantId, ["admin"]);
        assert.deepEqual(refused, { kind: "too-many", live: [fresh.key, old.key] });
        assert.equal((await control.revokeKey(old.key.id)).kind, "revoked");
        assert.equal(await control.findPrincipalByKeyHash(old.hash), null);
        assert.equal((await control.findPrincipalByKeyHash(fresh.hash))?.tenantId, tenantId);
        assert.equal((await control.createKey(keyHash(), tenantId, ["admin"])).kind, "created");
        const other = await withKeys(control);
        assert.equal(
          (await control.createKey(keyHash(), other.tenantId, ["admin"])).kind,
          "created",
        );
      }),
    );

    test(
      "of ten that are made at once, two live",
      onStore(open, async ({ control }) => {
        const { tenantId } = await withKeys(control);
        const made = await Promise.all(
          Array.from({ length: 10 }, () => control.createKey(keyHash(), tenantId, ["read"])),
        );
        assert.equal(made.filter(({ kind }) => kind === "created").length, 2);
        assert.equal((await control.listKeys(tenantId))?.length, 2);
      }),
    );

    test(
      "keys are listed with the live ones first, then the newest",
      onStore(open, async ({ control }) => {
        const { tenantId, keys } = await withKeys(control, ["read"], ["write"], ["read"]);
        await withKeys(control, ["read"]);
        const [a, b, c] = keys.map(({ key }) => key);
        assert.ok(a && b && c);
        assert.deepEqual(
          keys.map(({ hash, key }) => [keyIdOfHash(hash), key.revokedAtMs]),
          [a, b, c].map((key) => [key.id, null]),
        );
        const revoked = await control.revokeKey(c.id);
        assert.ok(revoked.kind === "revoked");
        assert.ok((revoked.key.revokedAtMs ?? 0) >= c.createdAtMs);
        const rest = (await control.listKeys(tenantId)) ?? [];
        assert.deepEqual(rest[2], revoked.key);
        assert.deepEqual(new Set(rest.slice(0, 2)), new Set([a, b]));
        assert.equal(await control.listKeys(makeTenant()), null);
        assert.deepEqual(await control.listKeys((await withKeys(control)).tenantId), []);
      }),
    );

    test(
      "a long life of rotations: the live ones are always listed",
      onStore(open, async ({ control }) => {
        const { tenantId, keys } = await withKeys(control, ["read", "write"]);
        for (let n = 0; n < KEYS_LISTED_MAX + 1; n++) {
          const made = await control.createKey(keyHash(), tenantId, ["admin"]);
          assert.ok(made.kind === "created");
          await control.revokeKey(made.key.id);
        }
        const listed = (await control.listKeys(tenantId)) ?? [];
        assert.equal(listed.length, KEYS_LISTED_MAX);
        assert.deepEqual(listed[0], keys[0]?.key);
      }),
    );

    test(
      "revoking again changes nothing; an id of no key is not found",
      onStore(open, async ({ control }) => {
        const { keys } = await withKeys(control, ["read"]);
        const id = keys[0]?.key.id as KeyId;
        const revoked = await control.revokeKey(id);
        assert.ok(revoked.kind === "revoked");
        assert.deepEqual(await control.revokeKey(id), { ...revoked, kind: "revoked-before" });
        assert.deepEqual(await control.revokeKey(keyIdOfHash(keyHash())), { kind: "not-found" });
      }),
    );

    test(
      "a tenant that there is not gets no key",
      onStore(open, async ({ control }) => {
        const hash = keyHash();
        const created = await control.createKey(hash, makeTenant(), ["read"]);
        assert.deepEqual(created, { kind: "no-such-tenant" });
        assert.equal(await control.findPrincipalByKeyHash(hash), null);
      }),
    );

    test(
      "an unknown hash, and text that is no hash, answer nothing",
      onStore(open, async ({ control }) => {
        await withKeys(control, ["read"]);
        for (const hash of [keyHash(), "", "%", "' OR 1=1 -- ", "é😀", "f".repeat(10_000)]) {
          assert.equal(await control.findPrincipalByKeyHash(hash), null);
        }
      }),
    );
  });
}

function principalsContract(name: string, open: OpenControl): void {
  describe(`${name}: IAM principals`, () => {
    test(
      "a mapped principal answers its tenant, scopes and quotas; unmapped, nothing",
      onStore(open, async ({ control }) => {
        const { tenantId } = await withKeys(control);
        const mapped = await control.mapPrincipal(ARN, tenantId, ["read"]);
        assert.ok(mapped.kind === "mapped");
        const { createdAtMs, ...rest } = mapped.principal;
        assert.ok(createdAtMs > Date.UTC(2026, 0, 1));
        assert.deepEqual(rest, { arn: ARN, tenantId, scopes: ["read"] });
        await control.setQuotas(tenantId, { minIntervalSeconds: 5 });
        assert.deepEqual(await control.findPrincipalByArn(ARN), {
          tenantId,
          scopes: ["read"],
          quotas: { ...QUOTAS_DEFAULT, minIntervalSeconds: 5 },
          tenantStatus: "active",
        });
        assert.equal(await control.unmapPrincipal(ARN), true);
        assert.equal(await control.findPrincipalByArn(ARN), null);
        assert.equal(await control.unmapPrincipal(ARN), false);
      }),
    );

    test(
      "mapping again replaces the scopes; another tenant does not get it",
      onStore(open, async ({ control }) => {
        const { tenantId } = await withKeys(control);
        const other = await withKeys(control);
        const first = await control.mapPrincipal(ARN, tenantId, ["read"]);
        assert.ok(first.kind === "mapped");
        const scopes: Scope[] = ["read", "write"];
        const again = { kind: "mapped", principal: { ...first.principal, scopes } };
        assert.deepEqual(await control.mapPrincipal(ARN, tenantId, scopes), again);
        assert.deepEqual(await control.mapPrincipal(ARN, tenantId, scopes), again);
        const taken = await control.mapPrincipal(ARN, other.tenantId, ["admin"]);
        assert.deepEqual(taken, { kind: "taken", by: tenantId });
        assert.deepEqual((await control.findPrincipalByArn(ARN))?.scopes, scopes);
        assert.deepEqual(await control.listPrincipals(null, 9), [again.principal]);
        const none = await control.mapPrincipal(`${ARN}2`, makeTenant(), ["read"]);
        assert.deepEqual(none, { kind: "no-such-tenant" });
      }),
    );

    test(
      "two tenants that ask for one principal at once: one gets it",
      onStore(open, async ({ control }) => {
        const tenants = [await withKeys(control), await withKeys(control)];
        const mapped = await Promise.all(
          tenants.map(({ tenantId }) => control.mapPrincipal(ARN, tenantId, ["read"])),
        );
        assert.deepEqual(mapped.map(({ kind }) => kind).sort(), ["mapped", "taken"]);
      }),
    );

    test(
      "principals are listed by ARN, page by page; ARNs are told apart by case",
      onStore(open, async ({ control }) => {
        const { tenantId } = await withKeys(control);
        const arns = ["b", "a", "B", "c"].map((role) => `${ARN}/${role}`);
        for (const arn of arns) await control.mapPrincipal(arn, tenantId, ["read"]);
        const first = await control.listPrincipals(null, 3);
        const rest = await control.listPrincipals(first.at(-1)?.arn ?? null, 3);
        assert.deepEqual(
          [...first, ...rest].map(({ arn }) => arn),
          arns.toSorted(),
        );
        assert.equal(await control.findPrincipalByArn(ARN.toLowerCase()), null);
      }),
    );

    test(
      "text that is no ARN answers nothing",
      onStore(open, async ({ control }) => {
        for (const arn of ["", "%", "' OR 1=1 -- ", "é😀", "\u0000", "a".repeat(100_000)]) {
          assert.equal(await control.findPrincipalByArn(arn), null);
        }
      }),
    );
  });
}

function keyHash(): string {
  return createHash("sha256").update(randomBytes(16)).digest("hex");
}
