/**
 * The jobs that a pause, delete or resume has not reached in its own transaction, because they are too many: one group after the
 * other, for as long as the caller may wait. Whoever asks the same again goes on where this has come to.
 */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { JOBS_CHANGE_MS_MAX } from "#core/domain/limits.ts";
import type { TaskChange } from "#core/domain/task-change.ts";
import type { EditResult } from "#core/ports/task-store.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** The task is as was asked, but time was up before all of its jobs were. */
export interface JobsLeft {
  readonly kind: "jobs-left";
}

export type Change<R> = EditResult<R> | JobsLeft;

type Deps = Pick<TaskServiceDeps, "shards" | "clock" | "retention">;

/** Edits by `edit`, then goes on with the jobs that are left, of this request or of one before it. */
export async function changeWithJobs<R>(
  deps: Deps,
  task: { readonly tenantId: TenantId; readonly taskId: TaskId },
  change: TaskChange,
  edit: () => Promise<EditResult<R>>,
): Promise<Change<R>> {
  const endsAtMs = deps.clock.monotonicMs() + JOBS_CHANGE_MS_MAX;
  const result = await edit();
  const changed = result.kind === "written" || result.kind === "unchanged";
  if (!changed || result.jobsLeft !== true) return result;
  return (await finishJobs(deps, task, change, endsAtMs)) === "left"
    ? { kind: "jobs-left" }
    : result;
}

/** "none": there was nothing to do. */
export async function finishJobs(
  { shards, clock, retention }: Deps,
  { tenantId, taskId }: { readonly tenantId: TenantId; readonly taskId: TaskId },
  change: TaskChange,
  endsAtMs: number,
): Promise<"done" | "left" | "none"> {
  const { tasks } = shards.forTask(taskId);
  for (let groups = 0; ; groups++) {
    if (groups > 0 && clock.monotonicMs() >= endsAtMs) return "left";
    const went = await tasks.goOnWithJobs(tenantId, taskId, change, retention);
    if (went === "none") return groups === 0 ? "none" : "done";
    if (went === "done") return "done";
  }
}
