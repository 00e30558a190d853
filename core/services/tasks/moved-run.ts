/**
 * A next run that newer data of time zones has moved. It is stored as an instant, computed by the rules of its day; where these have changed
 * since, it is no occurrence any more, and stands for one that is an hour or so before or after it.
 */
import type { Task } from "#core/domain/task.ts";
import { firstRunAfter } from "./first-run.ts";

/** As far as a change of rules moves a run, leaving out the days that a change of sides of the date line takes or gives. */
const MOVE_MAX_MS = 3 * 3_600_000;

/**
 * Where the task's next run belongs by today's rules, later than now; null: it is there, or stays. One that stands for an occurrence that
 * has passed by now stays: it runs at another time than it should rather than not at all.
 */
export function movedRun(task: Task, nowMs: number): number | null {
  const atMs = whereItBelongs(task);
  return atMs !== null && atMs !== task.nextRunAtMs && atMs > nowMs ? atMs : null;
}

/** The task's next run, if it is later than now and stands for an occurrence that has passed by today's rules; null: it does not. */
export function lateRun(task: Task, nowMs: number): number | null {
  const { nextRunAtMs } = task;
  if (nextRunAtMs === null || nextRunAtMs <= nowMs) return null;
  const atMs = whereItBelongs(task);
  return atMs !== null && atMs <= nowMs ? nextRunAtMs : null;
}

/** By today's rules; null: nowhere, or there is none, or its schedule has no zone. */
function whereItBelongs(task: Task): number | null {
  const { schedule, nextRunAtMs } = task;
  if (nextRunAtMs === null || schedule.type === "every" || schedule.timezone === undefined)
    return null;
  const next = firstRunAfter(task, nextRunAtMs - 1);
  const laterMs = next.kind === "run" ? next.atMs - nextRunAtMs : MOVE_MAX_MS;
  if (laterMs === 0) return nextRunAtMs;
  // Nearer than the one after it, if there is one before it.
  const nearest = firstRunAfter(task, nextRunAtMs - Math.min(laterMs, MOVE_MAX_MS));
  return nearest.kind === "run" ? nearest.atMs : null;
}
