import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { parseSchedule, ScheduleError } from "#core/domain/schedule.ts";
import type { Task } from "#core/domain/task.ts";
import type { Occurrence } from "./preview-schedule.ts";
import { previewSchedule } from "./preview-schedule.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

export interface Upcoming {
  readonly items: readonly Occurrence[];
  readonly warnings: readonly string[];
}

/** The next `count` occurrences of a live task, with what the caller should know about them; null when there is no task. */
export async function listUpcoming(
  { shards, clock }: Pick<TaskServiceDeps, "shards" | "clock">,
  tenantId: TenantId,
  taskId: TaskId,
  count: number,
): Promise<Upcoming | null> {
  const found = await shards.forTask(taskId).tasks.find(tenantId, taskId);
  if (found === null) return null;
  const { task } = found;
  try {
    const items = previewSchedule(task.schedule, task, count, clock.nowMs());
    return { items, warnings: warningsOf(task) };
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return { items: [], warnings: [`the schedule cannot go on: ${error.message}`] };
  }
}

function warningsOf(task: Task): string[] {
  const parsed = parseSchedule(task.schedule);
  // Compiled, but refused of a new task by now: it may never have been meant so.
  const warnings =
    parsed.kind === "ok"
      ? parsed.warnings
      : parsed.problems.map(({ field, message }) => `${field}: ${message}`);
  if (task.status === "paused")
    return ["the task is paused: none of these runs before it is resumed", ...warnings];
  if (task.error !== null)
    return [`the schedule has stopped: ${task.error}; resume or edit the task`, ...warnings];
  return warnings;
}
