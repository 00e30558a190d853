import type { TaskId } from "#core/domain/ids.ts";
import { integer, taskKey } from "../literals.ts";
import { listedJson } from "./listed-json.ts";

/**
 * Versions by key.
 *
 * Index: primary key, a row at a time, driven by the group. Locks: none. Isolation: READ COMMITTED (versions never change).
 * Result: a row per key that exists: task, version, request, timeout, retry.
 */
export function selectVersionsSql(
  keys: readonly { readonly taskId: TaskId; readonly requestVersion: number }[],
  bodies: "whole" | "sizes" = "whole",
): string {
  const rows = keys.map(({ taskId, requestVersion }) => {
    const { part, id } = taskKey(taskId);
    return `ROW(${part},${id},${integer(requestVersion)})`;
  });
  const request = bodies === "whole" ? "v.request" : listedJson("v.request");
  return `SELECT v.task_id, v.request_version, ${request}, v.timeout_ms, v.retry FROM (VALUES ${rows.join(",")}) AS r (part, task_id, request_version) STRAIGHT_JOIN task_versions AS v FORCE INDEX (PRIMARY) ON v.part = r.part AND v.task_id = r.task_id AND v.request_version = r.request_version`;
}
