import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeKeyFile } from "#adapters/crypto/key-file.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { openMasterKey } from "./open-master-key.ts";

const folder = mkdtempSync(join(tmpdir(), "master-key-"));
after(() => rmSync(folder, { recursive: true }));

test("one of the two settings names the master key", async () => {
  const never = () => assert.fail("KMS is not asked");
  const none = { SECRETS_KEY_FILE: "", SECRETS_KMS_KEY: "" };
  await assert.rejects(openMasterKey(none, never), ConfigurationInvalid);
  const both = { SECRETS_KEY_FILE: "a", SECRETS_KMS_KEY: "b" };
  await assert.rejects(openMasterKey(both, never), ConfigurationInvalid);
  const path = join(folder, "named");
  makeKeyFile(path);
  const file = await openMasterKey({ ...none, SECRETS_KEY_FILE: path }, never);
  const kms = await openMasterKey({ ...none, SECRETS_KMS_KEY: "alias/k" }, async (keyId) => {
    assert.equal(keyId, "alias/k");
    return file;
  });
  assert.equal(kms, file);
});
