/** What may be sent to a tenant's endpoint: URL, headers and body, checked when they are saved, so that no call fails on them. */
import { z } from "zod";
import {
  BODY_BYTES_MAX,
  HEADER_BYTES_MAX,
  HEADERS_MAX,
  URL_BYTES_MAX,
} from "#core/domain/limits.ts";
import { OWN_HEADERS } from "#core/domain/own-headers.ts";
import { TOO_LARGE } from "./validate.ts";

export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What HTTP lets a value hold: visible ASCII, blanks, tabs and Latin-1. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers of a connection, and what the caller sets itself. */
const CONNECTION_HEADERS = [
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** By which an endpoint knows that a call is ours. */
const SIGNATURE_HEADERS = "webhook-";

export const url = z
  .string()
  .superRefine((text, ctx) => {
    const message = faultOfUrl(text);
    if (message !== null) ctx.addIssue({ code: "custom", message });
  })
  .describe("http or https. Checked when it is called too: only public addresses are.")
  .meta({ format: "uri", examples: ["https://example.com/hook"] });

/** What is wrong with a URL to be called; null when nothing is. */
export function faultOfUrl(text: string): string | null {
  if (!text.isWellFormed()) return "is not valid Unicode";
  if (Buffer.byteLength(text) > URL_BYTES_MAX) return `must have at most ${URL_BYTES_MAX} bytes`;
  // The parser would take these out in silence.
  if (/[\s\p{Cc}]/u.test(text)) return "must not contain blanks or control characters";
  if (!/^https?:\/\/[^/\\?#]/i.test(text) || !URL.canParse(text))
    return "must be an absolute http or https URL, such as https://example.com/hook";
  const { username, password } = new URL(text);
  const authority = /^https?:\/\/([^/\\?#]*)/i.exec(text)?.[1] ?? "";
  return username !== "" || password !== "" || authority.includes("@")
    ? "must not contain a user name or password: send them in a header"
    : null;
}

/** A record of headers. Of one that has more than `max` no entry is looked at: a body has room for a million. */
export function headerRecord<Value extends z.ZodType>(value: Value, max: number) {
  const refuseMany = (given: unknown, ctx: z.RefinementCtx) => {
    const isMany = isRecord(given) && Object.keys(given).length > max;
    if (isMany) ctx.addIssue({ code: "custom", message: `must have at most ${max} headers` });
    return given;
  };
  return z.preprocess(refuseMany, z.record(z.string(), value)).meta({ maxProperties: max });
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const headers = headerRecord(z.string(), HEADERS_MAX)
  .superRefine((all, ctx) => refuseHeaders(all, ctx))
  .describe(
    "Sent as they are written. Not those of the connection, nor the ones by which an endpoint knows our calls.",
  )
  .meta({ propertyNames: { pattern: HEADER_NAME.source } });

/** A merge patch may take away as many as there can be, and set as many. */
export const PATCHED_HEADERS_MAX = 2 * HEADERS_MAX;

/** In a merge patch null takes a header away. What it sets is checked with the headers that it leaves. */
export const headersPatch = headerRecord(z.string().nullable(), PATCHED_HEADERS_MAX);

function refuseHeaders(all: Readonly<Record<string, string>>, ctx: z.RefinementCtx): void {
  const names = Object.keys(all);
  const seen = new Set<string>();
  let bytes = 0;
  for (const name of names) {
    const value = all[name] ?? "";
    const message = faultOfHeader(name, value, seen);
    if (message !== null) ctx.addIssue({ code: "custom", path: [name], message });
    seen.add(name.toLowerCase());
    bytes += name.length + value.length;
  }
  if (bytes > HEADER_BYTES_MAX)
    ctx.addIssue({
      code: "custom",
      message: `names and values must have at most ${HEADER_BYTES_MAX} bytes altogether`,
    });
}

/** What is wrong with a header, given the lower-case names of those before it; null when nothing is. Never repeats the value. */
export function faultOfHeader(
  name: string,
  value: string,
  seen: ReadonlySet<string>,
): string | null {
  const lowerCase = name.toLowerCase();
  if (!HEADER_NAME.test(name)) return "is not a header name";
  if (CONNECTION_HEADERS.includes(lowerCase)) return "belongs to the connection and cannot be set";
  if (OWN_HEADERS.some((own) => own === lowerCase) || lowerCase.startsWith(SIGNATURE_HEADERS))
    return "is set by this service on every call";
  if (seen.has(lowerCase)) return "is given twice (the case of a name does not matter)";
  if (!VALUE.test(value))
    return "must not contain line breaks, control characters or characters outside Latin-1";
  return null;
}

export const body = z
  .string()
  .superRefine((text, ctx) => {
    if (!text.isWellFormed()) {
      const message = "is not valid Unicode: send binary as bodyBase64";
      ctx.addIssue({ code: "custom", message });
    }
    refuseTooLarge(Buffer.byteLength(text), ctx);
  })
  .describe("Text, kept byte for byte as UTF-8, up to 256 KB.");

export const bodyBase64 = z
  .string()
  .superRefine((text, ctx) => {
    const bytes = Buffer.from(text, "base64");
    // Node's decoder skips what it does not know: only what it would write itself is taken.
    if (bytes.toString("base64") !== text)
      ctx.addIssue({ code: "custom", message: "is not base64 (RFC 4648, with padding)" });
    refuseTooLarge(bytes.length, ctx);
  })
  .describe("Binary, up to 256 KB; instead of `body`.")
  .meta({ contentEncoding: "base64" });

function refuseTooLarge(bytes: number, ctx: z.RefinementCtx): void {
  if (bytes <= BODY_BYTES_MAX) return;
  const message = `has ${bytes} bytes, at most ${BODY_BYTES_MAX} are allowed`;
  ctx.addIssue({ code: "custom", message, params: TOO_LARGE });
}

/** The two forms of a body exclude each other. */
export function refuseTwoBodies(
  request: { readonly body?: unknown; readonly bodyBase64?: unknown },
  ctx: z.RefinementCtx,
): void {
  if (request.body == null || request.bodyBase64 == null) return;
  const message = "cannot stand beside body: give one of them";
  ctx.addIssue({ code: "custom", path: ["bodyBase64"], message });
}
