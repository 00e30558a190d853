/**
 * Jobs that come back from a dead holder are set apart once they are past their first attempt. One of them may be what kills its
 * holders: when all came back together, the next executor would claim them together and die with all of them again, and after
 * LOST_MAX deaths they would all be dead for one. Apart, the one that kills meets fewer of the others each time.
 *
 * How far apart follows from the task's id, so that every store says the same, and grows with the attempt: a first attempt that is
 * lost, as when a machine dies, is delayed by nothing. (Every loss was an attempt; `lost` is written by the statement that asks this.)
 */
import { jobIdToBytes } from "./ids.ts";
import type { Job } from "./job.ts";

/** Where the last byte of the task's id, which is random, stands in a job's. */
export const APART_BYTE = 21;
/** For each value of that byte and each attempt after the first, up to so many. */
export const APART_STEP_MS = 20;
export const APART_ATTEMPTS_MAX = 3;

/** Ms from the rescue to when the job is in line again, at most 15.3 s. */
export function apartMs({ id, attempt }: Pick<Job, "id" | "attempt">): number {
  const attempts = Math.min(Math.max(0, attempt - 1), APART_ATTEMPTS_MAX);
  return attempts * APART_STEP_MS * (jobIdToBytes(id)[APART_BYTE] ?? 0);
}
