import type { Job } from "./job.ts";
import type { HttpRequest } from "./task.ts";

/** What a job sends: its version's request with the payload of a manual run laid over. Header names meet whatever their case. */
export function requestOfJob(job: Pick<Job, "payload">, request: HttpRequest): HttpRequest {
  const { payload } = job;
  if (payload === null) return request;
  const replaced = new Set(Object.keys(payload.headers ?? {}).map((name) => name.toLowerCase()));
  const kept = Object.entries(request.headers).filter(
    ([name]) => !replaced.has(name.toLowerCase()),
  );
  const headers = { ...Object.fromEntries(kept), ...payload.headers };
  const { body = null, bodyBase64 = null, bodyBytes } = payload;
  if (body === null && bodyBase64 === null && bodyBytes === undefined)
    return { ...request, headers };
  const { bodyBytes: _, ...rest } = request;
  const size = bodyBytes === undefined ? {} : { bodyBytes };
  return { ...rest, headers, body, bodyBase64, ...size };
}
