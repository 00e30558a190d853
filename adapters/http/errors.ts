/** Translates undici's and Node's errors to the stable codes of the caller port. */
const CODES: Record<string, string> = {
  ECONNREFUSED: "connection-refused",
  ECONNRESET: "connection-reset",
  EPIPE: "connection-reset",
  UND_ERR_SOCKET: "connection-reset",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EAI_FAIL: "dns",
  EPROTO: "tls",
  UND_ERR_HEADERS_OVERFLOW: "protocol",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "protocol",
  UND_ERR_INVALID_ARG: "request-invalid",
  ERR_INVALID_URL: "request-invalid",
};

/** Never throws; whatever has no name of its own is `network`. */
export function callErrorCode(error: unknown): string {
  if (error instanceof Error && error.name === "HTTPParserError") return "protocol";
  const code = codeOf(error) ?? codeOf((error as { cause?: unknown } | null)?.cause);
  if (code === null) return "network";
  const known = CODES[code];
  if (known !== undefined) return known;
  return code.startsWith("ERR_TLS") || code.includes("CERT") ? "tls" : "network";
}

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}
