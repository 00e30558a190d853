/** The sizes of p2 and its variants. */
import type { BenchOptions } from "../scenario.ts";
import { warmUpCalls } from "../warm-up.ts";

const EXECUTORS = [1, 2, 3] as const;
const SLOTS = 64;
const TASKS = 1_000;
const TASKS_QUICK = 100;
const JOBS = 30_000;
const JOBS_QUICK = 500;
/** How long the slots of one executor are to be busy where endpoints take their time. */
const DELAYED_LEG_MS = 16_000;

export interface Plan {
  readonly tasksCount: number;
  /** Jobs of each task: before the measured ones for each executor, and measured (where `jobsGrow` for each executor). */
  readonly perTask: { readonly warmUps: number; readonly jobs: number };
  /** Where slots are what is scarce, legs of more executors last as long as those of one: how they begin and end counts as much. */
  readonly jobsGrow: boolean;
  /** Calls of one process before those that are measured, and the measured ones of all together (of one executor). */
  readonly warmUps: number;
  readonly jobs: number;
  /** How many executors drain, leg after leg. */
  readonly counts: readonly number[];
  /** Raw calls are the limit only where an endpoint answers at once. */
  readonly withRaw: boolean;
}

export function planP2(options: BenchOptions): Plan {
  const { quick, tls, delayMs, materialise, executors } = options;
  const whole = quick ? JOBS_QUICK : JOBS;
  const wanted = delayMs > 0 ? Math.ceil((SLOTS * DELAYED_LEG_MS) / delayMs) : whole;
  const jobsMax = Math.min(whole, wanted);
  const tasksMax = materialise ? jobsMax : Math.min(quick ? TASKS_QUICK : TASKS, jobsMax);
  const tasksCount = Math.max(tasksMax, tls);
  const jobsPerTask = Math.ceil(jobsMax / tasksCount);
  // Where endpoints take their time, a warm-up of all calls would take longer than what is measured.
  const callsBefore = delayMs > 0 ? jobsMax / 2 : jobsMax;
  const warmUpsMax = Math.min(warmUpCalls(options), Math.ceil(callsBefore));
  const warmUpsPerTask = Math.ceil(warmUpsMax / tasksCount);
  const usual = materialise ? [1] : EXECUTORS;
  return {
    tasksCount,
    perTask: { warmUps: warmUpsPerTask, jobs: jobsPerTask },
    jobsGrow: delayMs > 0,
    warmUps: materialise ? warmUpsMax : tasksCount * warmUpsPerTask,
    jobs: tasksCount * jobsPerTask,
    counts: executors === null ? usual : [executors],
    withRaw: delayMs === 0,
  };
}

/** Jobs of each task in a leg of so many executors. */
export function perTaskOf({ perTask, jobsGrow }: Plan, executors: number): Plan["perTask"] {
  return jobsGrow ? { ...perTask, jobs: perTask.jobs * executors } : perTask;
}
