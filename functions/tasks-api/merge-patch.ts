/**
 * JSON merge patch (RFC 7396) of a task, with what makes sense for one: the schedule is replaced whole, header names meet
 * whatever their case, a credential is replaced whole, and giving one form of the body takes the other away.
 */
type JsonObject = Readonly<Record<string, unknown>>;

/** Lays `patch` over the fields of a task. null removes a field that there is: it goes back to its default. */
export function mergeTask(task: JsonObject, patch: JsonObject): JsonObject {
  const { request, retry, schedule } = patch;
  const merged = merge(task, patch);
  if (isObject(request)) merged.request = mergeRequest(fieldsOf(task.request), request);
  if (isObject(retry)) merged.retry = merge(fieldsOf(task.retry), retry);
  if (schedule !== undefined && schedule !== null) merged.schedule = schedule;
  return merged;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** One level. The schema of patches has refused fields that there are not. */
function merge(target: JsonObject, patch: JsonObject): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = value;
  }
  return merged;
}

function mergeRequest(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = merge(target, patch);
  for (const field of ["headers", "secretHeaders"])
    if (isObject(patch[field])) merged[field] = mergeHeaders(fieldsOf(target[field]), patch[field]);
  if (isSet(patch.body) && !isSet(patch.bodyBase64)) delete merged.bodyBase64;
  if (isSet(patch.bodyBase64) && !isSet(patch.body)) delete merged.body;
  return merged;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function mergeHeaders(target: JsonObject, patch: JsonObject): JsonObject {
  const patched = new Set(Object.keys(patch).map((name) => name.toLowerCase()));
  const kept = Object.entries(target).filter(([name]) => !patched.has(name.toLowerCase()));
  const given = Object.entries(patch).filter(([, value]) => value !== null);
  return Object.fromEntries([...kept, ...given]);
}
