import assert from "node:assert/strict";
import { test } from "node:test";
import { callErrorCode } from "./errors.ts";

test("whatever is wrong with a certificate or its chain is told as tls", () => {
  for (const code of [
    // A server without its intermediate certificate: browsers fetch it, and show the site.
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "UNABLE_TO_DECRYPT_CERT_SIGNATURE",
    "UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY",
    "CERT_SIGNATURE_FAILURE",
    "CERT_NOT_YET_VALID",
    "CERT_HAS_EXPIRED",
    "ERROR_IN_CERT_NOT_AFTER_FIELD",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "CERT_CHAIN_TOO_LONG",
    "CERT_REVOKED",
    "CERT_UNTRUSTED",
    "CERT_REJECTED",
    "INVALID_CA",
    "INVALID_PURPOSE",
    "PATH_LENGTH_EXCEEDED",
    "HOSTNAME_MISMATCH",
    // All that Node has no name for, such as a key that is too weak.
    "UNSPECIFIED",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
    "EPROTO",
  ])
    assert.equal(callErrorCode(Object.assign(new Error("no"), { code })), "tls", code);
});

test("what has no name of its own is network, whatever was thrown", () => {
  const coded = (code: unknown) => Object.assign(new Error("no"), { code });
  for (const thrown of [coded("ENETUNREACH"), coded("EMFILE"), coded(1), new Error("no"), null, ""])
    assert.equal(callErrorCode(thrown), "network");
  assert.equal(callErrorCode(new Error("no", { cause: coded("EPIPE") })), "connection-reset");
});
