/**
 * One tick: lock what is due, make its jobs, move its tasks on, in one transaction of at most six statements whatever the batch
 * (BEGIN, missed, due, INSERT, UPDATE, COMMIT), because each one costs a round trip; one more where jobs wait under limits.
 *
 * The jobs come before the advance, and both commit together; should the process die in between, nothing has happened. A COMMIT
 * whose answer is lost is no problem either: the next tick finds the tasks moved on, or makes the same ids again.
 */
import { assert } from "#core/domain/assert.ts";
import { MISSED_AFTER_MS } from "#core/domain/limits.ts";
import type { DueTask } from "#core/domain/task.ts";
import type {
  DueTasks,
  MaterializeBounds,
  Materialized,
  MaterializePlan,
  TaskAdvance,
} from "#core/ports/task-store.ts";
import { readInstant } from "./cells.ts";
import type { Session } from "./pool.ts";
import { advanceTasksSql, type GuardedAdvance } from "./statements/advance-tasks.ts";
import { insertJobsSql } from "./statements/insert-jobs.ts";
import { lineUpSql } from "./statements/limited-lines.ts";
import { selectDueTasksSql, selectMissedTasksSql } from "./statements/select-due-tasks.ts";
import { readDueTask } from "./task-rows.ts";
import type { Database } from "./transaction.ts";

export function materializeDue(
  database: Database,
  bounds: MaterializeBounds,
  plan: (due: DueTasks) => MaterializePlan,
): Promise<Materialized | null> {
  return database.transaction(async (session) => {
    const due = await lockDue(session, bounds);
    if (due.missed.length + due.due.length === 0) return null;
    const { jobs, advances } = plan(due);
    // The text of the second statement is written while the server is at the first.
    const [made, advance] = await Promise.all([
      jobs.length === 0 ? 0 : session.write(insertJobsSql(jobs)),
      (async () => advanceTasksSql(guardAdvances(due, advances)))(),
    ]);
    assert(made <= jobs.length, "an insert makes no more rows than it was given");
    const waiting = jobs.filter(({ status }) => status === "waiting");
    if (waiting.length > 0) await session.write(lineUpSql(waiting));
    if (advances.length > 0) {
      const moved = await session.write(advance);
      assert(moved === advances.length, "a tick moves the tasks that it has locked");
    }
    return {
      made,
      alreadyMade: jobs.length - made,
      errors: advances.filter((advance) => advance.error !== null).length,
    };
  });
}

async function lockDue(session: Session, bounds: MaterializeBounds): Promise<DueTasks> {
  const { horizonMs, missedOldestMax, missedTasksMax, tasksMax } = bounds;
  const [clock, ...missedRows] = await session.select(
    selectMissedTasksSql(MISSED_AFTER_MS, missedOldestMax, missedTasksMax),
  );
  const nowMs = readInstant(clock?.[0]);
  const missed = new Map(missedRows.map(readDueTask).map((task) => [task.id, task]));
  const room = tasksMax - missed.size;
  const dueRows =
    room <= 0
      ? []
      : await session.select(selectDueTasksSql(nowMs - MISSED_AFTER_MS, nowMs + horizonMs, room));
  return { nowMs, missed: [...missed.values()], due: dueRows.map(readDueTask) };
}

/** Adds the next run that was read to each advance: it is the guard of the write. */
export function guardAdvances(due: DueTasks, advances: readonly TaskAdvance[]): GuardedAdvance[] {
  const tasks = new Map<string, DueTask>();
  for (const task of due.missed) tasks.set(task.id, task);
  for (const task of due.due) tasks.set(task.id, task);
  return advances.map((advance) => {
    const wasNextRunAtMs = tasks.get(advance.taskId)?.nextRunAtMs ?? null;
    assert(wasNextRunAtMs !== null, "a plan advances only tasks that were due");
    return { ...advance, wasNextRunAtMs };
  });
}
