/** When all is quiet: every occurrence has its row, every job its end, and the history tells what happened. */
import type { JobId } from "#core/domain/ids.ts";
import type { Covers, Job } from "#core/domain/job.ts";
import { isFinished } from "#core/domain/job-state.ts";
import { ATTEMPT_RECORDS_MAX } from "#core/domain/limits.ts";
import type { Task } from "#core/domain/task.ts";
import { occurrencesOf } from "./eras.ts";
import type { Ledger } from "./ledger.ts";

interface EndOfTask {
  readonly ledger: Ledger;
  readonly task: Task;
  /** All its jobs, as a reader of both stores sees them. */
  readonly seen: ReadonlyMap<JobId, Job>;
  readonly nowMs: number;
}

export function checkEnd({ ledger, task, seen, nowMs }: EndOfTask): void {
  if (task.status === "active" && task.nextRunAtMs !== null)
    ledger.violate("a task stays behind", `next run ${task.nextRunAtMs - nowMs} ms`, null, task.id);
  const own = new Set<number>();
  const covers: Covers[] = [];
  for (const job of seen.values()) {
    checkJob(ledger, job);
    if (job.covers !== null) covers.push(job.covers);
    else if (job.trigger === "schedule" || job.trigger === "catch_up") own.add(job.scheduledAtMs);
  }
  // What a paused task owes is told when it goes on.
  const owedMs = task.status === "paused" ? (task.nextRunAtMs ?? nowMs) - 1 : nowMs;
  for (const era of ledger.eras.get(task.id) ?? []) {
    for (const atMs of occurrencesOf(era, Math.min(nowMs, owedMs))) {
      if (own.has(atMs) || covers.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs))
        continue;
      const at = new Date(atMs).toISOString();
      ledger.violate("an occurrence has no row", at, null, task.id);
    }
  }
}

function checkJob(ledger: Ledger, job: Job): void {
  const calls = ledger.calls.get(job.id) ?? [];
  if (!isFinished(job.status)) {
    const detail = `${job.status}, claim ${job.claimNo}, attempt ${job.attempt}, lost ${job.lost}`;
    ledger.violate("a job does not end", detail, job.id, job.taskId);
    return;
  }
  if (job.status === "succeeded" && !calls.some(({ succeeded }) => succeeded))
    ledger.violate("a job succeeded without a good answer", "", job.id, job.taskId);
  if (job.status !== "succeeded" && job.reason === null)
    ledger.violate("a job ended without a reason", job.status, job.id, job.taskId);
  // A death that is not the endpoint's doing needs as many losses as it takes.
  if (job.status === "dead" && calls.length === 0 && job.lost === 0)
    ledger.violate("a job died without a call", job.reason ?? "", job.id, job.taskId);
  checkRecords(ledger, job);
}

/** Each call has its record, each record its call; but not where the holder lost the job, nor the oldest where there are too many. */
function checkRecords(ledger: Ledger, job: Job): void {
  const calls = ledger.calls.get(job.id) ?? [];
  const records = new Map(Object.values(job.attempts).map((record) => [record.attempt, record]));
  for (const { attempt, rescued, statusCode } of calls.slice(-ATTEMPT_RECORDS_MAX)) {
    const record = records.get(attempt);
    if (record === undefined ? !rescued : record.statusCode !== statusCode) {
      const told = record === undefined ? "nothing" : record.statusCode;
      const detail = `attempt ${attempt} was answered ${statusCode}, the record says ${told}`;
      ledger.violate("a call is not recorded as it was", detail, job.id, job.taskId);
    }
  }
  for (const attempt of records.keys())
    if (!calls.some((call) => call.attempt === attempt))
      ledger.violate("a record of no call", `attempt ${attempt}`, job.id, job.taskId);
}
