/** Make and take, as MySQL does it: critical tasks that are due become jobs in the worker's hands. */
import type { Job } from "#core/domain/job.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import { FAST_AHEAD_MS, MISSED_AFTER_MS } from "#core/domain/limits.ts";
import type { TakeRequest } from "#core/ports/job-store.ts";
import type { DueTasks, MaterializePlan } from "#core/ports/task-store.ts";
import { advanceTask, dueTask } from "./memory-due-tasks.ts";
import type { MemoryTables } from "./memory-tables.ts";

/** Makes, moves on and claims; answers the jobs as they are then. */
export function makeAndTake(
  tables: MemoryTables,
  { workerId, tasksMax }: TakeRequest,
  nowMs: number,
  plan: (due: DueTasks) => MaterializePlan,
): Job[] {
  const due = [...tables.tasks.values()]
    .map((task) => dueTask(tables, task))
    .filter(
      ({ id, priority, nextRunAtMs }) =>
        tables.tasks.get(id)?.status === "active" &&
        priority === "critical" &&
        nextRunAtMs !== null &&
        nextRunAtMs >= nowMs - MISSED_AFTER_MS &&
        nextRunAtMs <= nowMs + FAST_AHEAD_MS,
    )
    .sort((a, b) => (a.nextRunAtMs ?? 0) - (b.nextRunAtMs ?? 0) || (a.id < b.id ? -1 : 1))
    .slice(0, tasksMax);
  if (due.length === 0) return [];
  const { jobs, advances } = plan({ nowMs, missed: [], due });
  tables.insertJobs(jobs);
  for (const advance of advances) advanceTask(tables, advance);
  return jobs.flatMap(({ id }) => {
    const job = tables.jobs.get(id);
    if (job?.status !== "pending") return [];
    const outcome = applyEvent(
      job,
      { kind: "claim", workerId },
      { nowMs, retention: { succeededMs: 0, endedMs: 0 } },
    );
    if (outcome.kind !== "moved") return [];
    tables.jobs.set(id, outcome.job);
    return [outcome.job];
  });
}
