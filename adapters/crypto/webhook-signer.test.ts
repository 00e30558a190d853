import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import type { JobId } from "#core/domain/ids.ts";
import { Secret } from "#core/domain/secret.ts";
import { newSigningSecret } from "#core/domain/signing-secret.ts";
import { signedHeaders } from "#core/services/executor/call/signed-headers.ts";
import { openSigner } from "./webhook-signer.ts";

const JOB = "job_0000csxp5w00060djc17y74t3ph80t6vxhdp80g" as JobId;
const make = () => newSigningSecret(randomBytes(32), randomBytes(8)).secret;

test("the specification's own example", () => {
  // https://github.com/standard-webhooks/standard-webhooks, libraries' tests
  const secret = new Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const head = "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.";
  assert.equal(
    openSigner().sign(secret, head, '{"test": 2432232314}'),
    "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  );
});

test("the public library accepts what is sent, and nothing else", () => {
  const secret = make();
  const library = new Webhook(secret.reveal());
  const signer = openSigner();
  const bodies = fc.string({ unit: "binary" }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(fc.option(bodies), (body) => {
      const headers = signedHeaders(signer, [secret], JOB, Date.now(), body);
      const received = body ?? "";
      library.verify(received, headers, { jsonParse: false });
      assert.throws(() => library.verify(`${received}x`, headers));
      assert.throws(() => library.verify(received, { ...headers, "webhook-id": "job_1" }));
    }),
    { numRuns: 200 },
  );
});

test("binary is signed byte for byte, which that library cannot check: it takes bodies for text", () => {
  const secret = make();
  const key = Buffer.from(secret.reveal().slice("whsec_".length), "base64");
  const signer = openSigner();
  fc.assert(
    fc.property(fc.uint8Array(), (body) => {
      const headers = signedHeaders(signer, [secret], JOB, 1_764_579_600_999, body);
      const signed = Buffer.concat([Buffer.from(`${JOB}.1764579600.`), body]);
      const expected = createHmac("sha256", key).update(signed).digest("base64");
      assert.equal(headers["webhook-signature"], `v1,${expected}`);
    }),
  );
});

test("while secrets are replaced each of them verifies, the new one's signature first", () => {
  const [oldest, old, fresh, another] = [make(), make(), make(), make()];
  const signer = openSigner();
  const headers = signedHeaders(signer, [fresh, old, oldest], JOB, Date.now(), "{}");
  new Webhook(oldest.reveal()).verify("{}", headers);
  new Webhook(old.reveal()).verify("{}", headers);
  new Webhook(fresh.reveal()).verify("{}", headers);
  assert.throws(() => new Webhook(another.reveal()).verify("{}", headers));
  const [first] = (headers["webhook-signature"] ?? "").split(" ");
  const alone = signedHeaders(
    signer,
    [fresh],
    JOB,
    Number(headers["webhook-timestamp"]) * 1_000,
    "{}",
  );
  assert.equal(first, alone["webhook-signature"]);
});

test("the README's snippet accepts what is sent", async () => {
  const repository = resolve(import.meta.dirname, "..", "..");
  const readme = readFileSync(join(repository, "README.md"), "utf8");
  const snippet = /```js\n(import \{ Webhook \}[\s\S]*?)```/.exec(readme)?.[1];
  assert(snippet !== undefined, "README.md shows how to verify a call");
  const folder = mkdtempSync(join(tmpdir(), "snippet-"));
  try {
    symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "snippet.mjs"), snippet);
    const { readCall } = await import(join(folder, "snippet.mjs"));
    const secret = make();
    process.env.WEBHOOK_SECRET = secret.reveal();
    const sentAt = (nowMs: number, body: string) =>
      signedHeaders(openSigner(), [make(), make(), secret], JOB, nowMs, body);
    for (const body of ['{"a":"é"}', "no JSON: é", "0123", ""]) {
      const headers = sentAt(Date.now(), body);
      assert.equal(readCall(headers, body), body);
      assert.equal(readCall(headers, Buffer.from(body)), body);
      assert.throws(() => readCall(headers, `${body}x`), /No matching signature/);
      assert.throws(() => readCall(sentAt(Date.now() - 301_000, body), body), /too old/);
    }
  } finally {
    delete process.env.WEBHOOK_SECRET;
    rmSync(folder, { recursive: true });
  }
});
