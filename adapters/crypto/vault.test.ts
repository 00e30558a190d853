import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { DATA_KEY_KNOWN_MS, DATA_KEY_KNOWN_MS_MAX, SEALING_KEY_MS } from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import { type MasterKey, type SecretPlace, SecretsUnavailable } from "#core/ports/secrets.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { masterKeyOf } from "./key-file.ts";
import { assertMasterKeyFits, openVault } from "./vault.ts";

const ACME = "acme" as TenantId;
const OTHER = "other" as TenantId;
const TASK = "task_01m7v41f00emv820g30g2gc1r8" as TaskId;
const PLACE: SecretPlace = { tenantId: ACME, owner: TASK, field: "auth" };
const TEXT = "hunter2 \u{1f511} \u0000";

/** A vault on a store of its own, with every call to the master key counted and told to fail at will. */
function open(real: MasterKey = masterKeyOf([randomBytes(32)])) {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const asked = { generate: 0, unwrap: 0 };
  const world = { clock, shards, asked, away: false, slowMs: 0, ...openParts() };
  function openParts() {
    const masterKey: MasterKey = {
      generate: (context) => answer("generate", real.generate(context)),
      unwrap: (wrapped, context) => answer("unwrap", real.unwrap(wrapped, context)),
    };
    const storeOf = (id: TenantId) => shards.forTenant(id).secrets;
    return {
      masterKey,
      another: (refusedMs = 1_000) => openVault({ masterKey, storeOf, clock, refusedMs }),
    };
  }
  function answer<T>(verb: keyof typeof asked, result: Promise<T>): Promise<T> {
    asked[verb]++;
    if (world.slowMs > 0) return clock.sleep(world.slowMs).then(() => result);
    return world.away ? Promise.reject(new SecretsUnavailable("away")) : result;
  }
  return world;
}

test("a secret opens where it was sealed, in another process too", async () => {
  const { another } = open();
  const sealed = await another().seal(PLACE, new Secret(TEXT));
  assert.equal(Buffer.from(sealed).includes("hunter2"), false);
  assert.equal((await another().open(PLACE, sealed))?.reveal(), TEXT);
  assert.equal(
    (await another().open(PLACE, await another().seal(PLACE, new Secret(""))))?.reveal(),
    "",
  );
});

test("moved to another tenant, task or field it does not open", async () => {
  const { another, shards } = open();
  const vault = another();
  const sealed = await vault.seal(PLACE, new Secret(TEXT));
  // Whoever moves the row moves the data key too.
  for (const key of shards.tables.dataKeys.slice())
    shards.tables.dataKeys.push({ ...key, tenantId: OTHER });
  for (const place of [
    { ...PLACE, tenantId: OTHER },
    { ...PLACE, owner: "task_01m7v41f00emv820g30g2gc1r9" as TaskId },
    { ...PLACE, owner: "tenant" as const },
    { ...PLACE, field: "header:auth" },
  ])
    assert.equal(await vault.open(place, sealed), null);
});

test("no byte of it can be changed, and what is no sealed text is none", async () => {
  const { another } = open();
  const vault = another();
  const sealed = await vault.seal(PLACE, new Secret("x"));
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.equal(await vault.open(PLACE, changed), null, `byte ${at}`);
  }
  for (const bytes of [
    new Uint8Array(),
    sealed.subarray(0, 44),
    sealed.subarray(0, sealed.length - 1),
    randomBytes(80),
  ])
    assert.equal(await vault.open(PLACE, bytes), null);
});

test("two seals of one text differ: nothing is told by comparing them", async () => {
  const vault = open().another();
  const [a, b] = await Promise.all([1, 2].map(() => vault.seal(PLACE, new Secret("x"))));
  assert.notDeepEqual(a, b);
});

test("a thousand secrets cost one data key, and one unwrapping an executor; at once too", async () => {
  const { another, asked } = open();
  const [api, executor] = [another(), another()];
  const all = await Promise.all(
    Array.from({ length: 1_000 }, (_, n) => api.seal(PLACE, new Secret(String(n)))),
  );
  assert.deepEqual(asked, { generate: 1, unwrap: 0 });
  const opened = await Promise.all(all.map((sealed) => executor.open(PLACE, sealed)));
  assert.deepEqual(
    opened.map((secret) => secret?.reveal()),
    all.map((_, n) => String(n)),
  );
  assert.deepEqual(asked, { generate: 1, unwrap: 1 });
});

test("who seals asks for a new data key in time, and needs no right to unwrap one", async () => {
  const real = masterKeyOf([randomBytes(32)]);
  const sealsOnly: MasterKey = {
    generate: real.generate,
    unwrap: (wrapped, context) => {
      assert.equal(context.purpose, "fingerprint");
      return real.unwrap(wrapped, context);
    },
  };
  const { another, clock, asked } = open(sealsOnly);
  const vault = another();
  await vault.seal(PLACE, new Secret("x"));
  await vault.fingerprint(ACME, new Secret("x"));
  await another().fingerprint(ACME, new Secret("x"));
  await clock.advance(SEALING_KEY_MS - 1);
  await vault.seal(PLACE, new Secret("x"));
  assert.equal(asked.generate, 2);
  await clock.advance(1);
  await vault.seal(PLACE, new Secret("x"));
  assert.equal(asked.generate, 3);
});

test("while the master key is away, what is unwrapped serves for an hour, and nothing new opens", async () => {
  const world = open();
  const { another, clock, asked } = world;
  const vault = another();
  const sealed = await vault.seal(PLACE, new Secret(TEXT));
  await vault.open(PLACE, sealed);
  world.away = true;
  await clock.advance(DATA_KEY_KNOWN_MS);
  assert.equal((await vault.open(PLACE, sealed))?.reveal(), TEXT);
  assert.equal(asked.unwrap, 2, "it was asked again");
  await assert.rejects(another().open(PLACE, sealed), SecretsUnavailable);
  await assert.rejects(another().seal(PLACE, new Secret("x")), SecretsUnavailable);
  await clock.advance(DATA_KEY_KNOWN_MS_MAX);
  await assert.rejects(vault.open(PLACE, sealed), SecretsUnavailable);
  world.away = false;
  await clock.advance(1_000);
  assert.equal((await vault.open(PLACE, sealed))?.reveal(), TEXT);
});

test("a master key that does not serve is asked once a second by a worker, by each request in a function: no timer runs where it is frozen", async () => {
  const world = open();
  const { another, asked, clock } = world;
  const sealed = await another().seal(PLACE, new Secret(TEXT));
  world.away = true;
  for (const [refusedMs, times] of [
    [1_000, 1],
    [0, 3],
  ] as const) {
    const vault = another(refusedMs);
    const before = { ...asked };
    for (const _ of [1, 2, 3]) {
      await assert.rejects(vault.open(PLACE, sealed), SecretsUnavailable);
      await assert.rejects(vault.seal(PLACE, new Secret("x")), SecretsUnavailable);
      await clock.advance(300);
    }
    const more = [asked.unwrap - before.unwrap, asked.generate - before.generate];
    assert.deepEqual(more, [times, times]);
  }
  world.away = false;
  await another().seal(PLACE, new Secret("x"));
});

test("while the master key is slow, what is unwrapped serves: a second is waited, then no more until it answers", async () => {
  const world = open();
  const { another, clock, asked } = world;
  const vault = another();
  const sealed = await vault.seal(PLACE, new Secret(TEXT));
  await vault.open(PLACE, sealed);
  await clock.advance(DATA_KEY_KNOWN_MS);
  world.slowMs = 9_000;
  const startMs = clock.monotonicMs();
  const openedMs: number[] = [];
  const openOne = async () => {
    assert.equal((await vault.open(PLACE, sealed))?.reveal(), TEXT);
    openedMs.push(clock.monotonicMs() - startMs);
  };
  const first = openOne();
  await clock.advance(3_000);
  const second = openOne();
  await clock.advance(0);
  await Promise.all([first, second]);
  assert.deepEqual(openedMs, [1_000, 3_000]);
  assert.equal(asked.unwrap, 2);
  await clock.advance(6_000);
  await openOne();
  assert.deepEqual([openedMs.at(-1), asked.unwrap], [9_000, 2], "it has answered");
});

test("what does not unwrap is not asked for by every call", async () => {
  const { another, shards, asked } = open();
  const vault = another();
  const sealed = await vault.seal(PLACE, new Secret("x"));
  const [key] = shards.tables.dataKeys;
  assert(key);
  shards.tables.dataKeys[0] = { ...key, wrapped: randomBytes(key.wrapped.length) };
  for (let n = 0; n < 100; n++) assert.equal(await vault.open(PLACE, sealed), null);
  assert.equal(asked.unwrap, 1);
});

test("a fingerprint is the tenant's: the same in every process, another one for another tenant", async () => {
  const { another } = open();
  const [a, b] = [another(), another()];
  const [mine, again, others, longer] = await Promise.all([
    a.fingerprint(ACME, new Secret("x")),
    b.fingerprint(ACME, new Secret("x")),
    a.fingerprint(OTHER, new Secret("x")),
    a.fingerprint(ACME, new Secret("xx")),
  ]);
  assert.match(mine ?? "", /^[0-9a-f]{64}$/);
  assert.equal(mine, again);
  assert.equal(new Set([mine, others, longer]).size, 3);
});

test("a line that has gone from the key file is found out, whose keys ever come first", async () => {
  const [older, newer] = [randomBytes(32), randomBytes(32)];
  for (const [first, second] of [
    [older, newer],
    [newer, older],
  ] as const) {
    const { shards, clock } = open();
    const [shard] = shards.all();
    assert(shard);
    const vaultOf = (key: Uint8Array) =>
      openVault({
        masterKey: masterKeyOf([key]),
        storeOf: () => shard.secrets,
        clock,
        refusedMs: 0,
      });
    await vaultOf(first).seal(PLACE, new Secret("x"));
    await vaultOf(second).seal({ ...PLACE, tenantId: OTHER }, new Secret("x"));
    const fits = (...keys: Uint8Array[]) =>
      assertMasterKeyFits(masterKeyOf(keys), shard.secrets, "SECRETS_KEY_FILE");
    await fits(newer, older);
    await assert.rejects(fits(newer), /lacks a line of it/);
    await assert.rejects(fits(older), /lacks a line of it/);
  }
});

test("another master key is found out before anything is sent", async () => {
  const { another, masterKey, shards } = open();
  const [shard] = shards.all();
  assert(shard);
  await assertMasterKeyFits(masterKey, shard.secrets, "SECRETS_KEY_FILE");
  await another().seal(PLACE, new Secret("x"));
  await assertMasterKeyFits(masterKey, shard.secrets, "SECRETS_KEY_FILE");
  await assert.rejects(
    assertMasterKeyFits(masterKeyOf([randomBytes(32)]), shard.secrets, "SECRETS_KEY_FILE"),
    (error: Error) =>
      error instanceof ConfigurationInvalid &&
      /SECRETS_KEY_FILE is not the key/.test(error.message),
  );
});
