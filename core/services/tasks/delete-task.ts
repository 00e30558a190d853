import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import { JOBS_CHANGE_MS_MAX } from "#core/domain/limits.ts";
import type { StateRefusal } from "./decide-pause.ts";
import { decideDelete } from "./decide-pause.ts";
import { type Change, changeWithJobs, finishJobs } from "./finish-jobs.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** A delete that went on with the jobs that one before it had left, to the last. */
interface Finished {
  readonly kind: "finished";
}

/**
 * Deletes a live task: its name is free at once, its jobs stay readable. With `ifTags` only one that they name. Of a deleted task:
 * goes on with the jobs that its delete has left.
 */
export async function deleteTask(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  taskId: TaskId,
  ifTags: readonly string[] | null,
): Promise<Change<StateRefusal> | Finished> {
  const { shards, clock, random, retention } = deps;
  const context = { run: randomRun(random.bytes(2)), retention };
  const endsAtMs = clock.monotonicMs() + JOBS_CHANGE_MS_MAX;
  const task = { tenantId, taskId };
  const result = await changeWithJobs(deps, task, "deleted", () =>
    shards
      .forTask(taskId)
      .tasks.edit(tenantId, taskId, (locked) => decideDelete(locked, ifTags, context), retention),
  );
  if (result.kind !== "not-found") return result;
  switch (await finishJobs(deps, task, "deleted", endsAtMs)) {
    case "none":
      return result;
    case "left":
      return { kind: "jobs-left" };
    case "done":
      return { kind: "finished" };
  }
}
