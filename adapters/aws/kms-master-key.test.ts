import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { type KeyContext, SecretsUnavailable } from "#core/ports/secrets.ts";
import { openAwsEndpoint } from "#test/support/aws-endpoint.ts";
import { openKmsMasterKey } from "./kms-master-key.ts";

const CONTEXT: KeyContext = { tenantId: "acme" as TenantId, purpose: "seal" };
const KEY_ID = "alias/at-and-cron";

/** KMS as far as we use it: it remembers what it wrapped, and for which context. */
function fakeKms() {
  const wrapped = new Map<string, { plain: string; context: string }>();
  return (operation: string, input: Readonly<Record<string, unknown>>) => {
    assert.equal(input.KeyId, KEY_ID);
    const context = JSON.stringify(input.EncryptionContext);
    if (operation === "GenerateDataKey") {
      assert.equal(input.KeySpec, "AES_256");
      const plain = randomBytes(32).toString("base64");
      const blob = randomBytes(184).toString("base64");
      wrapped.set(blob, { plain, context });
      return { body: { Plaintext: plain, CiphertextBlob: blob, KeyId: KEY_ID } };
    }
    const found = wrapped.get(String(input.CiphertextBlob));
    if (found?.context !== context)
      return { status: 400, body: { __type: "InvalidCiphertextException" } };
    return { body: { Plaintext: found.plain, KeyId: KEY_ID } };
  };
}

test("a data key is generated, and unwraps for its context only", async () => {
  await using endpoint = await openAwsEndpoint(fakeKms());
  const kms = openKmsMasterKey({ keyId: KEY_ID, client: endpoint.client });
  const { plain, wrapped } = await kms.generate(CONTEXT);
  assert.deepEqual([plain.length, wrapped.length], [32, 184]);
  assert.deepEqual(Buffer.from((await kms.unwrap(wrapped, CONTEXT)) ?? []), Buffer.from(plain));
  assert.equal(await kms.unwrap(wrapped, { ...CONTEXT, purpose: "fingerprint" }), null);
  assert.equal(await kms.unwrap(wrapped, { ...CONTEXT, tenantId: "b" as TenantId }), null);
  assert.equal(await kms.unwrap(randomBytes(10), CONTEXT), null);
  assert.deepEqual(endpoint.asked, ["GenerateDataKey", ...Array(4).fill("Decrypt")]);
});

test("a refusal, a fault that stays and an endpoint that is away are retryable, and say no more than their name", async () => {
  const message = "arn:aws:iam::123456789012:role/x is not authorized";
  await using endpoint = await openAwsEndpoint((operation) =>
    operation === "Decrypt"
      ? { status: 400, body: { __type: "AccessDeniedException", message } }
      : { status: 500, body: { __type: "KMSInternalException", message } },
  );
  const kms = openKmsMasterKey({ keyId: KEY_ID, client: endpoint.client });
  const away = openKmsMasterKey({
    keyId: KEY_ID,
    client: { ...endpoint.client, endpoint: "http://127.0.0.1:9" },
  });
  for (const failing of [
    () => kms.unwrap(randomBytes(184), CONTEXT),
    () => kms.generate(CONTEXT),
    () => away.generate(CONTEXT),
  ])
    await assert.rejects(failing(), (error: Error) => {
      assert(error instanceof SecretsUnavailable && error.retryable);
      return /^KMS does not serve: \w+$/.test(error.message);
    });
  assert.equal(endpoint.asked.filter((operation) => operation === "GenerateDataKey").length, 3);
});

test("what is not answered is asked again, and given up in time", { timeout: 5_000 }, async () => {
  await using endpoint = await openAwsEndpoint(() => null);
  const kms = openKmsMasterKey({ keyId: KEY_ID, client: endpoint.client, requestMs: 50 });
  await assert.rejects(kms.unwrap(randomBytes(184), CONTEXT), SecretsUnavailable);
  assert.equal(endpoint.asked.length, 3);
});
