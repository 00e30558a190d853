/** What must hold after any fault, told from the schedules, the rows of both stores and the calls that arrived. */

import { quantile } from "#bench/figures.ts";
import type { JobId } from "#core/domain/ids.ts";
import { type AttemptRecord, type JobStatus, REASON_USED_UP } from "#core/domain/job.ts";
import type { SinkCall } from "#test/support/sink.ts";
import { type Expected, MAX_ATTEMPTS, PERIOD_SECONDS } from "./load.ts";

export interface JobSeen {
  readonly status: JobStatus;
  readonly claimNo: number;
  readonly lost: number;
  readonly reason: string | null;
  readonly attempts: Readonly<Record<string, AttemptRecord>>;
}

export interface Evidence {
  /** What had to run, by the schedules. */
  readonly expected: readonly Expected[];
  readonly jobs: ReadonlyMap<JobId, JobSeen>;
  /** By job, in the order in which they came. */
  readonly calls: ReadonlyMap<JobId, readonly SinkCall[]>;
  readonly brokenAtMs: number;
  readonly mendedAtMs: number;
}

export interface Verdict {
  readonly jobs: number;
  readonly calls: number;
  /** Occurrences without a row, without an end, or with a success that nobody was called for. */
  readonly lost: number;
  /** Calls whose (job, attempt) had come before. */
  readonly duplicates: number;
  /** Calls of jobs that had been answered 2xx, but for retries of one that failed after that. */
  readonly repeated: number;
  /** Calls whose answer did not get out: the caller was gone. */
  readonly cut: number;
  /** Calls before their time. */
  readonly early: number;
  /** Ends that do not follow from what was answered, and results that counted although a later claim existed. */
  readonly wrong: number;
  /** From the mending to the last call that was more than a second late; 0 when none was. */
  readonly recoveryMs: number;
  /** Lags of critical jobs, sent minus scheduled. */
  readonly criticalP99Ms: number;
  readonly criticalMaxMs: number;
  /** The first few of what is not as it should be. */
  readonly examples: readonly string[];
}

const LATE_MS = 1_000;
const EXAMPLES_MAX = 5;
/** A call that comes a moment before its time by another clock of the same machine is no early one. */
const CLOCK_MS = 2;

class Tally {
  lost = 0;
  duplicates = 0;
  repeated = 0;
  cut = 0;
  early = 0;
  wrong = 0;
  calls = 0;
  readonly examples: string[] = [];

  note(example: string): void {
    if (this.examples.length < EXAMPLES_MAX) this.examples.push(example);
  }
}

/** `isOwn` names tasks that the fault judges itself: of those only loss and duplicates are counted. */
export function judge(evidence: Evidence, isOwn: (url: string) => boolean = () => false): Verdict {
  const tally = new Tally();
  for (const expected of evidence.expected) {
    const job = evidence.jobs.get(expected.id);
    const calls = evidence.calls.get(expected.id) ?? [];
    countCalls(tally, expected, calls);
    const problem = job === undefined ? "no row" : findLoss(job, calls);
    if (problem !== null) {
      tally.lost++;
      tally.note(`${expected.id}: ${problem}`);
    }
    const wrong = job === undefined || isOwn(expected.url) ? null : findWrong(job, expected, calls);
    if (wrong !== null) {
      tally.wrong++;
      tally.note(`${expected.id}: ${wrong}`);
    }
  }
  const steady = evidence.expected.filter(({ url }) => !isOwn(url));
  const critical = criticalLags(evidence, steady);
  const { lost, duplicates, repeated, cut, early, wrong, calls, examples } = tally;
  return {
    ...{ jobs: evidence.expected.length, calls, lost, duplicates, repeated, cut, early, wrong },
    recoveryMs: recoveryMs(evidence, steady),
    criticalP99Ms: quantile(critical, 0.99),
    criticalMaxMs: quantile(critical, 1),
    examples,
  };
}

function countCalls(tally: Tally, { id, scheduledAtMs }: Expected, calls: readonly SinkCall[]) {
  const attempts = new Set<number>();
  let answeredAtMs = Number.POSITIVE_INFINITY;
  let isRetry = false;
  for (const { attempt, arrivedAtMs, answer } of calls) {
    tally.calls++;
    if (attempts.has(attempt)) {
      tally.duplicates++;
      tally.note(`${id}: attempt ${attempt} came twice`);
    }
    attempts.add(attempt);
    if (arrivedAtMs > answeredAtMs && !isRetry) tally.repeated++;
    isRetry = answer !== null && !isSuccess(answer.status);
    if (answer === null) tally.cut++;
    else if (isSuccess(answer.status)) answeredAtMs = Math.min(answeredAtMs, answer.atMs);
    if (arrivedAtMs < scheduledAtMs - CLOCK_MS) {
      tally.early++;
      tally.note(`${id}: called ${scheduledAtMs - arrivedAtMs} ms before its time`);
    }
  }
}

function findLoss({ status }: JobSeen, calls: readonly SinkCall[]): string | null {
  if (status === "succeeded")
    return calls.some(({ answer }) => answer !== null && isSuccess(answer.status))
      ? null
      : "succeeded, and no call of it was answered so";
  if (status === "dead") return null;
  return `left ${status}`;
}

function findWrong(job: JobSeen, { url }: Expected, calls: readonly SinkCall[]): string | null {
  const counted = Object.entries(job.attempts).find(([, { statusCode }]) => isSuccess(statusCode));
  if (counted !== undefined && Number(counted[0]) !== job.claimNo)
    return `the success of claim ${counted[0]} counted, and claim ${job.claimNo} existed`;
  if ((counted !== undefined) !== (job.status === "succeeded"))
    return `${job.status}, and ${counted === undefined ? "no" : "a"} success in its records`;
  if (job.status !== "dead") return null;
  if (!isFlaky(url) || job.reason !== REASON_USED_UP) return `dead: ${job.reason}`;
  const failures = calls.filter(({ answer }) => answer !== null && !isSuccess(answer.status));
  return failures.length < MAX_ATTEMPTS ? `dead after ${failures.length} failed calls` : null;
}

/** A flaky endpoint has its calls made again, and a peak takes its time: neither says when the fault's effects were over. */
function recoveryMs({ mendedAtMs, calls }: Evidence, steady: readonly Expected[]): number {
  let lastMs = mendedAtMs;
  for (const { id, scheduledAtMs, url, task } of steady) {
    if (isFlaky(url) || task.schedule.type !== "every") continue;
    if (task.schedule.seconds !== PERIOD_SECONDS) continue;
    const arrivedAtMs = calls.get(id)?.at(-1)?.arrivedAtMs ?? 0;
    if (arrivedAtMs - scheduledAtMs > LATE_MS) lastMs = Math.max(lastMs, arrivedAtMs);
  }
  return lastMs - mendedAtMs;
}

function criticalLags({ calls }: Evidence, steady: readonly Expected[]): number[] {
  return steady.flatMap(({ id, scheduledAtMs, priority, task }) => {
    const first = calls.get(id)?.[0];
    const missed = scheduledAtMs < task.nextRunAtMs;
    return priority !== 0 || missed || first === undefined
      ? []
      : [first.arrivedAtMs - scheduledAtMs];
  });
}

function isFlaky(url: string): boolean {
  return url.includes("/flaky/");
}

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}
