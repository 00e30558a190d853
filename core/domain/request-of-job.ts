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
  if (payload.body === undefined && payload.bodyBase64 === undefined)
    return { ...request, headers };
  return {
    ...request,
    headers,
    body: payload.body ?? null,
    bodyBase64: payload.bodyBase64 ?? null,
  };
}
