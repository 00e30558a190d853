/** What a manual run may lay over the request of its task's version. */
import type { FieldProblem } from "./field-problem.ts";
import type { Payload } from "./job.ts";
import type { HttpRequest } from "./task.ts";

/** Methods whose requests carry no body. */
export const BODILESS_METHODS: readonly string[] = ["GET", "HEAD"];

/** Why `payload` cannot be laid over `request`; empty where it can. */
export function payloadFaults(payload: Payload | null, request: HttpRequest): FieldProblem[] {
  const clashes = secretClashes(payload, request);
  if (clashes.length > 0) return clashes;
  const hasBody = payload?.body !== undefined || payload?.bodyBase64 !== undefined;
  if (!hasBody || !BODILESS_METHODS.includes(request.method)) return [];
  const message = `the task calls with ${request.method}, which carries no body`;
  return [{ field: "request.body", message }];
}

/** What is a secret of the task is sent by every run of it: a payload is not where secrets belong. */
function secretClashes(payload: Payload | null, request: HttpRequest): FieldProblem[] {
  const secret = new Set((request.secretHeaders ?? []).map((name) => name.toLowerCase()));
  if (request.auth !== undefined) secret.add("authorization");
  return Object.keys(payload?.headers ?? {})
    .filter((name) => secret.has(name.toLowerCase()))
    .map((name) => ({ field: `request.headers.${name}`, message: "is a secret of the task" }));
}
