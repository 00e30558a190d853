/** What ends a call before its answer, and the translation of Node's errors to the stable codes of the caller port. */
import type { CallError } from "#core/domain/call-error.ts";

/** The guard's refusal. The message is for our log only: it tells what a name stands for inside our network. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
  readonly code = "EGRESS_REFUSED";
}

/** No address for a name; the cause says whether the name server said so or did not answer. */
export class LookupFailed extends Error {
  override readonly name = "LookupFailed";
  readonly code = "EAI_FAIL";
}

/** No connection will come of this one: every connection of ours is dialled once. */
export class ConnectionGone extends Error {
  override readonly name = "ConnectionGone";
  readonly code = "ECONNRESET";
}

/** What came is not a response. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code = "PROTOCOL";
}

/** The request cannot be sent as it is. */
export class RequestInvalid extends Error {
  override readonly name = "RequestInvalid";
  readonly code = "ERR_INVALID_URL";
}

const CODES: Readonly<Record<string, CallError>> = {
  EGRESS_REFUSED: "destination-not-allowed",
  ECONNREFUSED: "connection-refused",
  ECONNRESET: "connection-reset",
  EPIPE: "connection-reset",
  ETIMEDOUT: "timeout",
  EAI_FAIL: "dns",
  EPROTO: "tls",
  PROTOCOL: "protocol",
  ERR_INVALID_URL: "request-invalid",
};
/** How OpenSSL's names for a certificate that proves nothing begin; the rest of them contain CERT. */
const TLS_CODES = ["UNABLE_TO_", "INVALID_", "HOSTNAME_MISMATCH", "PATH_LENGTH_", "UNSPECIFIED"];

/** Never throws; whatever has no name of its own is `network`. */
export function callErrorCode(error: unknown): CallError {
  const code = codeOf(error) ?? codeOf((error as { cause?: unknown } | null)?.cause);
  if (code === null) return "network";
  const known = CODES[code];
  if (known !== undefined) return known;
  return isTlsCode(code) ? "tls" : "network";
}

function isTlsCode(code: string): boolean {
  return (
    code.startsWith("ERR_TLS") ||
    code.startsWith("ERR_SSL") ||
    code.includes("CERT") ||
    TLS_CODES.some((prefix) => code.startsWith(prefix))
  );
}

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}
