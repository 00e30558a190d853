/** A request as the bytes that are sent (RFC 9112). What would make two requests of one, or end where it does not, is refused. */
import type { Call } from "#core/ports/caller.ts";
import { RequestInvalid } from "./errors.ts";

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NOT_IN_PATH = /[^\x21-\x7e]/;
const LATIN_1 = /[\x80-\xff]/;
/** Whoever sends these decides about the connection, or where the request ends. */
const FRAMING = new Set([
  "content-length",
  "expect",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const CONNECTION = /^(?:close|keep-alive)$/i;
/** HTTP/1.1 means it anyhow, but some servers tell how long they keep a connection only where it is said. */
const KEEP_ALIVE = "connection: keep-alive\r\n";
/** Methods whose requests say that they have no body. */
const WITH_LENGTH = new Set(["POST", "PUT", "PATCH"]);

/** To `host` (with its port, if it is not the standard one) for `path`. Throws RequestInvalid. */
export function requestText(
  { method, headers, body }: Pick<Call, "method" | "headers" | "body">,
  host: string,
  path: string,
): string | Buffer {
  if (!TOKEN.test(method) || method === "CONNECT" || NOT_IN_PATH.test(path))
    throw new RequestInvalid("no method, or no path");
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${headerLines(headers)}`;
  if (body !== null) head += `content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  else head += WITH_LENGTH.has(method) ? "content-length: 0\r\n\r\n" : "\r\n";
  if (body === null) return Buffer.from(head, "latin1");
  if (typeof body === "string" && !LATIN_1.test(head)) return head + body;
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body as string)]);
}

function headerLines(headers: Readonly<Record<string, string>>): string {
  let lines = "";
  let connection = KEEP_ALIVE;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!TOKEN.test(name) || NOT_IN_VALUE.test(value)) throw new RequestInvalid("not a header");
    const lower = name.toLowerCase();
    if (lower === "host") throw new RequestInvalid("the URL alone names the host");
    if (FRAMING.has(lower)) throw new RequestInvalid("a header of the connection");
    if (lower === "connection") {
      if (!CONNECTION.test(value)) throw new RequestInvalid("a header of the connection");
      connection = "";
    }
    lines += `${name}: ${value}\r\n`;
  }
  return connection + lines;
}
