/**
 * The load under which faults happen: the load model at a scaled rate, so many jobs a second with a peak of so many in one second,
 * endpoints fast, slow and flaky. What has to run is told by the schedules alone, not by what the database made of them.
 */
import { insertTasks } from "#bench/insert-tasks.ts";
import { buildLoadModel, type LoadTask } from "#bench/load-model.ts";
import { type JobId, makeJobId } from "#core/domain/ids.ts";
import type { FaultDatabase } from "./database.ts";

/** Every task of the load runs so often. */
export const PERIOD_SECONDS = 20;
const SCALE = 0.1;
const FAR_MS = 86_400_000;
export const MAX_ATTEMPTS = 3;
const RETRY = {
  maxAttempts: MAX_ATTEMPTS,
  initialDelaySeconds: 1,
  factor: 1,
  maxDelaySeconds: 10,
  jitter: 0,
};

export interface LoadOptions {
  readonly database: FaultDatabase;
  readonly sinkUrl: string;
  readonly seed: number;
  readonly perSecond: number;
  /** Tasks due at one second. */
  readonly peak: { readonly tasks: number; readonly atMs: number } | null;
}

export interface Expected {
  readonly id: JobId;
  readonly scheduledAtMs: number;
  readonly priority: number;
  readonly url: string;
  readonly task: LoadTask;
}

export class Load {
  readonly #tasks: LoadTask[];

  private constructor(tasks: LoadTask[]) {
    this.#tasks = tasks;
  }

  /** Puts the load's tasks in, the first of them due from now on. */
  static async begin({ database, sinkUrl, seed, perSecond, peak }: LoadOptions): Promise<Load> {
    const nowMs = Date.now();
    const tasks = buildLoadModel({
      seed,
      targets: [sinkUrl],
      fromMs: nowMs + 2_000,
      peakAtMs: peak?.atMs ?? nowMs + FAR_MS,
      scale: SCALE,
      endpoints: "reachable",
      // The model's scale would apply to these numbers too.
      steady: [[(perSecond * PERIOD_SECONDS) / SCALE, PERIOD_SECONDS]],
      peakTasks: peak?.tasks ?? 0,
    });
    await insertTasks(database, tasks, RETRY);
    return new Load(tasks);
  }

  /** More tasks beside the load's. */
  async add(database: FaultDatabase, tasks: readonly LoadTask[]): Promise<void> {
    this.#tasks.push(...tasks);
    await insertTasks(database, tasks, RETRY);
  }

  /** Every occurrence before `untilMs`, whether there is a job of it or not. */
  expected(untilMs: number): Expected[] {
    return this.#tasks.flatMap((task) => occurrences(task, untilMs));
  }
}

function occurrences(task: LoadTask, untilMs: number): Expected[] {
  const { id, nextRunAtMs, schedule, priority, url } = task;
  if (schedule.type !== "every") throw new Error("the load's tasks run every so many seconds");
  const all: Expected[] = [];
  for (let atMs = nextRunAtMs; atMs < untilMs; atMs += schedule.seconds * 1_000)
    all.push({ id: makeJobId(atMs, id, 0), scheduledAtMs: atMs, priority, url, task });
  return all;
}
