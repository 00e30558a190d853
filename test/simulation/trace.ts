/** What happened, line by line, for who looks into a seed that failed. Costs nothing while nobody does. */
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { EventQueue } from "./event-queue.ts";

interface Line {
  readonly atMs: number;
  readonly jobId: JobId | null;
  readonly taskId: TaskId | null;
  readonly text: string;
}

export class Trace {
  readonly #queue: EventQueue;
  readonly #on: boolean;
  readonly #lines: Line[] = [];

  constructor(queue: EventQueue, on: boolean) {
    this.#queue = queue;
    this.#on = on;
  }

  /** `jobId` and `taskId` null: it concerns everybody. */
  note(jobId: JobId | null, taskId: TaskId | null, text: () => string): void {
    if (this.#on) this.#lines.push({ atMs: this.#queue.nowMs, jobId, taskId, text: text() });
  }

  /** The lines about a job, its task and everybody; of all where both are null. */
  linesOf(jobId: JobId | null, taskId: TaskId | null): string[] {
    return this.#lines
      .filter((line) => {
        if (jobId === null && taskId === null) return true;
        if (line.jobId !== null)
          return jobId === null ? line.taskId === taskId : line.jobId === jobId;
        return line.taskId === null || line.taskId === taskId;
      })
      .map(({ atMs, text, jobId: job }) => {
        const of = job === null || jobId !== null ? "" : `${job.slice(-8)} `;
        return `${(atMs / 1_000).toFixed(3).padStart(9)} s  ${of}${text}`;
      });
  }
}
