/** Reads the parts of a request that several operations have in common. */
import type { JobId, TaskId } from "#core/domain/ids.ts";
import { parseJobId, parseTaskId } from "#core/domain/ids.ts";
import type { ApiRequest } from "./api-event.ts";
import { fieldsProblem, HttpProblem } from "./problem.ts";

/** The task that the path names. Text that is no id of ours names no task: 404. */
export function taskIdOf({ pathParameters }: ApiRequest): TaskId {
  const id = parseTaskId(pathParameters.taskId ?? "");
  if (id === null) throw noSuchTask();
  return id;
}

export function jobIdOf({ pathParameters }: ApiRequest): JobId {
  const id = parseJobId(pathParameters.jobId ?? "");
  if (id === null) throw noSuchJob();
  return id;
}

export function noSuchTask(): HttpProblem {
  return new HttpProblem(404, "there is no such task");
}

export function noSuchJob(): HttpProblem {
  return new HttpProblem(404, "there is no such job");
}

/** 503: the job is not in MySQL, and whether it is in history cannot be said now. */
export function historyAway(): HttpProblem {
  return new HttpProblem(503, "history is away: whether there is such a job cannot be said now", {
    headers: { "retry-after": "2" },
    more: { historyAvailable: false },
  });
}

/** The query with one value per name. Throws 422 for a name that is given twice and not in `lists`; those are joined by commas. */
export function queryOf(
  { query }: ApiRequest,
  lists: readonly string[] = [],
): Record<string, string> {
  const single: Record<string, string> = Object.create(null);
  for (const [name, values] of Object.entries(query)) {
    if (values.length > 1 && !lists.includes(name))
      throw fieldsProblem([{ field: name.slice(0, 200), message: "is given more than once" }]);
    single[name] = values.join(",");
  }
  return single;
}

/**
 * The tags that If-Match names, any of which will do; null when any at all will. A weak one names nothing. Throws 422 for what is no tag:
 * a version without its quotes, answered as one that has passed, would be read anew and sent so for ever.
 */
export function ifTagsOf({ header }: ApiRequest): readonly string[] | null {
  const value = header("if-match")?.trim();
  if (value === undefined || value === "" || value === "*") return null;
  const tags = value.split(",").flatMap((tag) => tag.trim() || []);
  if (tags.length === 0 || !tags.every((tag) => /^(W\/)?"[^"]*"$/.test(tag)))
    throw fieldsProblem([
      { field: "If-Match", message: 'has to be an ETag in its quotes, such as "3"' },
    ]);
  return tags.flatMap((tag) => (tag.startsWith('"') ? [tag.slice(1, -1)] : []));
}
