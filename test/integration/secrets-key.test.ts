/** The key file that `npm start` makes: once, and never another one for a database that has secrets. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeKeyFile, readKeyFile } from "#adapters/crypto/key-file.ts";
import { openVault } from "#adapters/crypto/vault.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { Secret } from "#core/domain/secret.ts";
import { localKeyFile, prepareKeyFile } from "#local/secrets-key.ts";
import { databaseNames, makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";

const folder = mkdtempSync(join(tmpdir(), "secrets-key-"));
let databases: TestDatabases;
before(async () => {
  databases = await makeTestDatabases();
});
after(async () => {
  rmSync(folder, { recursive: true });
  await databases.drop();
});

test("made with an empty database, kept after; lost or exchanged it is asked for by name", async () => {
  const path = localKeyFile(folder, {});
  const prepare = () => prepareKeyFile(path, databases);
  await prepare();
  const key = readFileSync(path, "utf8");
  const shards = openShards(databases);
  try {
    const storeOf = (id: TenantId) => shards.forTenant(id).secrets;
    const vault = openVault({
      masterKey: readKeyFile(path),
      storeOf,
      clock: systemClock,
      refusedMs: 0,
    });
    const place = { tenantId: "acme" as TenantId, owner: "tenant", field: "x" } as const;
    await vault.seal(place, new Secret("x"));
  } finally {
    await shards.close();
  }
  await prepare();
  assert.equal(readFileSync(path, "utf8"), key);
  renameSync(path, `${path}.away`);
  await assert.rejects(prepare(), /secrets\.key is not there, but the database has secrets/);
  assert.equal(existsSync(path), false);
  makeKeyFile(path);
  await assert.rejects(
    prepare(),
    /SECRETS_KEY_FILE .*secrets\.key is not the key that the secrets/,
  );
  renameSync(`${path}.away`, path);
  await prepare();
});

test("a server that nobody has migrated has no secrets: a key is made for it", async () => {
  const empty = await makeTestDatabases();
  for (const name of databaseNames(empty.databasePrefix)) await empty.run(`DROP DATABASE ${name}`);
  const path = join(folder, "first.key");
  await prepareKeyFile(path, empty);
  assert.ok(existsSync(path));
  await empty.drop();
});

test("a setting says where it is, and KMS that there is none", () => {
  assert.equal(localKeyFile("/a", { SECRETS_KEY_FILE: "/b" }), "/b");
  assert.equal(localKeyFile("/a", { SECRETS_KMS_KEY: "alias/k" }), "");
});
