import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { KeyContext } from "#core/ports/secrets.ts";
import { makeKeyFile, readKeyFile } from "./key-file.ts";

const folder = mkdtempSync(join(tmpdir(), "key-file-"));
after(() => rmSync(folder, { recursive: true }));
const CONTEXT: KeyContext = { tenantId: "acme" as TenantId, purpose: "seal" };

function write(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

test("a key file is made once, for its owner only, and wraps what it unwraps", async () => {
  const path = join(folder, "made");
  makeKeyFile(path);
  const text = readFileSync(path, "utf8");
  makeKeyFile(path);
  assert.equal(readFileSync(path, "utf8"), text);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const { plain, wrapped } = await readKeyFile(path).generate(CONTEXT);
  assert.equal(plain.length, 32);
  assert.deepEqual(await readKeyFile(path).unwrap(wrapped, CONTEXT), plain);
});

test("a data key unwraps for its tenant and purpose only, unchanged, under its own key", async () => {
  const path = join(folder, "bound");
  makeKeyFile(path);
  const key = readKeyFile(path);
  const { wrapped } = await key.generate(CONTEXT);
  assert.equal(await key.unwrap(wrapped, { ...CONTEXT, tenantId: "other" as TenantId }), null);
  assert.equal(await key.unwrap(wrapped, { ...CONTEXT, purpose: "fingerprint" }), null);
  for (const at of [0, 8, 20, 40, wrapped.length - 1]) {
    const changed = Uint8Array.from(wrapped);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.equal(await key.unwrap(changed, CONTEXT), null);
  }
  assert.equal(await key.unwrap(new Uint8Array(), CONTEXT), null);
  const other = join(folder, "other");
  makeKeyFile(other);
  assert.equal(await readKeyFile(other).unwrap(wrapped, CONTEXT), null);
});

test("a key is replaced by a line in front of it: the old one goes on unwrapping", async () => {
  const [old, fresh] = [join(folder, "old"), join(folder, "fresh")];
  makeKeyFile(old);
  makeKeyFile(fresh);
  const before = await readKeyFile(old).generate(CONTEXT);
  const both = write("both", readFileSync(fresh, "utf8") + readFileSync(old, "utf8"));
  assert.deepEqual(await readKeyFile(both).unwrap(before.wrapped, CONTEXT), before.plain);
  const after = await readKeyFile(both).generate(CONTEXT);
  assert.deepEqual(await readKeyFile(fresh).unwrap(after.wrapped, CONTEXT), after.plain);
  assert.equal(await readKeyFile(old).unwrap(after.wrapped, CONTEXT), null);
});

test("what is missing, open to others or malformed is named, never shown", () => {
  const secret = randomBytes(31).toString("base64");
  const faults: [string, RegExp][] = [
    [join(folder, "nowhere"), /SECRETS_KEY_FILE .*nowhere is not there/],
    [folder, /SECRETS_KEY_FILE .*(chmod|cannot be read)/],
    [write("open", "x", 0o640), /can be read by others: chmod 600/],
    [write("empty", "\n"), /has no key/],
    [write("short", `at-and-cron-master-key-1:${secret}\n`), /has a line that is not/],
    [write("other", `${secret}\n`), /has a line that is not/],
  ];
  for (const [path, message] of faults)
    assert.throws(
      () => readKeyFile(path),
      (error: Error) =>
        error instanceof ConfigurationInvalid &&
        message.test(error.message) &&
        !error.message.includes(secret),
    );
});
