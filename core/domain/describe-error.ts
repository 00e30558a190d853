/**
 * What the log may say of an error. Messages of others repeat what they choked on: the JSON parser its text, a driver its statement,
 * the URL parser its URL. So only our own errors keep theirs, which are templates without anything that a tenant wrote; of any
 * other there is its class, its code, and where in our code it came up.
 */
import { AssertionError } from "./assert.ts";
import { OperatingError } from "./errors.ts";

export interface ErrorDescription {
  /** Its class; what it is, when something else was thrown. */
  readonly error: string;
  readonly code?: string;
  /** Only of our own errors. */
  readonly message?: string;
  /** File, line and column of the innermost frame in our code. */
  readonly at?: string;
}

const CLASS_NAME = /^[A-Za-z][A-Za-z0-9]{0,59}$/;
const CODE = /^[A-Z][A-Z0-9_]{1,59}$/;
/** A line of a stack, and nothing that a message can pass for without naming one of our files. */
const OWN_FRAME =
  /^ {4}at .*[/(]((?:core|adapters|functions|workers|local)\/[\w/.-]{1,150}\.ts:\d{1,6}:\d{1,6})\)?$/;

/** Never throws, whatever was thrown. */
export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { error: error === null ? "null" : typeof error };
  if (error instanceof OperatingError) {
    const { name, code, message } = error;
    return { error: name, code, message };
  }
  const at = ownFrameOf(error);
  const where = at === null ? {} : { at };
  if (error instanceof AssertionError)
    return { error: error.name, message: error.message, ...where };
  const { name, code } = error as { readonly name: unknown; readonly code?: unknown };
  return {
    error: typeof name === "string" && CLASS_NAME.test(name) ? name : "Error",
    ...(typeof code === "string" && CODE.test(code) ? { code } : {}),
    ...where,
  };
}

function ownFrameOf({ name, message, stack }: Error): string | null {
  const head = `${name}: ${message}\n`;
  // A stack that does not begin so may have the message anywhere.
  if (typeof stack !== "string" || !stack.startsWith(head)) return null;
  for (const line of stack.slice(head.length).split("\n", 50)) {
    const frame = OWN_FRAME.exec(line)?.[1];
    if (frame !== undefined) return frame;
  }
  return null;
}
