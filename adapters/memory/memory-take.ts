/** Make and take, as MySQL does it: critical tasks that are due become jobs in the worker's hands. */
import type { Job } from "#core/domain/job.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import type { TakeRequest } from "#core/ports/job-store.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import { advanceTask, criticalDue, dueTask } from "./memory-due-tasks.ts";
import { type MemoryTables, NO_RETENTION } from "./memory-tables.ts";

/** Makes, moves on and claims; answers the jobs as they are then. */
export function makeAndTake(
  tables: MemoryTables,
  { workerId, tasksMax }: TakeRequest,
  nowMs: number,
  plan: (due: DueTasks) => MaterializePlan,
): Job[] {
  const due = criticalDue(tables, nowMs)
    .slice(0, tasksMax)
    .map((task) => dueTask(tables, task));
  if (due.length === 0) return [];
  const { jobs, advances } = plan({ nowMs, missed: [], due });
  tables.insertJobs(jobs);
  for (const advance of advances) advanceTask(tables, advance);
  return jobs.flatMap(({ id }) => {
    const job = tables.jobs.get(id);
    if (job?.status !== "pending") return [];
    const context = { nowMs, retention: NO_RETENTION };
    const outcome = applyEvent(job, { kind: "claim", workerId }, context);
    if (outcome.kind !== "moved") return [];
    tables.jobs.set(id, outcome.job);
    return [outcome.job];
  });
}
