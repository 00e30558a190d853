/** Reads a request's body as JSON. */
import type { ApiEvent } from "./api-event.ts";
import { headerOf } from "./api-event.ts";
import { HttpProblem } from "./problem.ts";

/** The parsed body, undefined when it is empty. Throws HttpProblem 400 or 415. */
export function readJson(event: ApiEvent): unknown {
  const text = readText(event);
  if (text === null) throw new HttpProblem(400, "the body is not UTF-8");
  if (text === "") return undefined;
  refuseOtherTypes(headerOf(event, "content-type"));
  const parsed = parse(text);
  if (parsed === null) throw new HttpProblem(400, "the body is not JSON, or nested too deeply");
  if (parsed.hasPrototype) throw new HttpProblem(400, "the body has a field called __proto__");
  return parsed.value;
}

/** Without a byte order mark. Null when the bytes are not UTF-8. */
function readText(event: ApiEvent): string | null {
  if (event.body === null || event.body === undefined) return "";
  if (!event.isBase64Encoded) return event.body.replace(/^\ufeff/, "");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(event.body, "base64"));
  } catch {
    return null;
  }
}

/** Null when it is no JSON, or nested deeper than the parser goes. What the parser says repeats the text: it stays here. */
function parse(text: string): { value: unknown; hasPrototype: boolean } | null {
  // No field of ours is called so, and objects that are built from such a key change their kind.
  let hasPrototype = false;
  try {
    const value: unknown = JSON.parse(text, (key, field: unknown) => {
      hasPrototype ||= key === "__proto__";
      return field;
    });
    return { value, hasPrototype };
  } catch {
    return null;
  }
}

/** Without a type the body is taken for JSON. */
function refuseOtherTypes(contentType: string | undefined): void {
  if (contentType === undefined || contentType === "") return;
  const [type = "", ...parameters] = contentType.toLowerCase().split(";");
  const isJson = /^\s*application\/([a-z0-9.+-]+\+)?json\s*$/.test(type);
  const charset = parameters.find((parameter) => parameter.trim().startsWith("charset="));
  const isUtf8 = charset === undefined || /^\s*charset="?utf-?8"?\s*$/.test(charset);
  if (!isJson || !isUtf8) throw new HttpProblem(415, "the body must be application/json, in UTF-8");
}
