import { assert } from "#core/domain/assert.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { Job, Payload } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { TaskVersion } from "#core/domain/task.ts";
import type { FieldProblem, TaskServiceDeps } from "./task-settings.ts";

export type RunNow =
  | { readonly kind: "made"; readonly job: Job; readonly version: TaskVersion | null }
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] }
  | { readonly kind: "not-found" };

/** Methods whose requests carry no body. */
export const BODILESS_METHODS: readonly string[] = ["GET", "HEAD"];

/** Makes a manual job that is due now, of an active, paused or completed task; `payload` is laid over the version's request. */
export async function runTask(
  { shards, random }: Pick<TaskServiceDeps, "shards" | "random">,
  tenantId: TenantId,
  taskId: TaskId,
  payload: Payload | null,
): Promise<RunNow> {
  const { tasks } = shards.forTask(taskId);
  const found = await tasks.find(tenantId, taskId);
  if (found === null) return { kind: "not-found" };
  const { method } = found.version.request;
  const hasBody = payload?.body !== undefined || payload?.bodyBase64 !== undefined;
  if (hasBody && BODILESS_METHODS.includes(method)) {
    const message = `the task calls with ${method}, which carries no body`;
    return { kind: "invalid", problems: [{ field: "request.body", message }] };
  }
  const made = await tasks.runNow(tenantId, taskId, (task, nowMs) =>
    makeManualJob(task, "manual", nowMs, randomRun(random.bytes(2)), payload),
  );
  if (made.kind === "not-found") return made;
  assert(made.kind === "made", "without a key there is nothing else");
  const requestVersion = made.job.taskVersion;
  const [version = null] =
    requestVersion === found.version.requestVersion
      ? [found.version]
      : await tasks.loadVersions([{ taskId, requestVersion }]);
  return { kind: "made", job: made.job, version };
}
