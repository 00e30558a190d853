/** What an edit has made of a task, for whoever goes on with the jobs that its own transaction could not reach. */
import { REASON_DELETED, REASON_PAUSED } from "./job.ts";
import type { TaskStatus } from "./task.ts";

export type TaskChange = "paused" | "deleted" | "resumed";

/** Why a task that was so changed has its jobs cancelled; null: it has not, they go on. */
export const CANCEL_REASON: Readonly<Record<TaskChange, string | null>> = {
  paused: REASON_PAUSED,
  deleted: REASON_DELETED,
  resumed: null,
};

const CHANGES: Readonly<Record<TaskStatus, TaskChange>> = {
  active: "resumed",
  completed: "resumed",
  paused: "paused",
  deleted: "deleted",
};

/** The change of which a task's status is left. */
export function changeOf(status: TaskStatus): TaskChange {
  return CHANGES[status];
}
