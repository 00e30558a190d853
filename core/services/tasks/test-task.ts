/**
 * A test call: a job like any other, due now, that executors send with everything that a scheduled one has; here it is made and
 * waited for. It never moves the schedule, and its failure is not retried.
 */
import { OperatingError } from "#core/domain/errors.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { isFinished } from "#core/domain/job-state.ts";
import { TEST_CALLS_MAX, TEST_WINDOW_MS } from "#core/domain/limits.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { TestLimit } from "#core/domain/test-limit.ts";
import type { JobStore } from "#core/ports/job-store.ts";
import type { MadeRun, MakeRun } from "#core/ports/task-store.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

export const TEST_LIMIT: TestLimit = { callsMax: TEST_CALLS_MAX, windowMs: TEST_WINDOW_MS };

/** How often a test is looked at: at first, so many times, and then. */
const POLL_MS_FIRST = 100;
const POLLS_FIRST = 30;
const POLL_MS = 250;

export type Tested =
  /** `ended`: the job is as it ended; `under-way`: as it was last seen. */
  | ({ readonly kind: "ended" | "under-way" } & MadeRun)
  | { readonly kind: "not-found" }
  | { readonly kind: "limited"; readonly retryAfterMs: number };

type TestDeps = Pick<TaskServiceDeps, "shards" | "clock" | "random">;

export interface TestWait {
  /** On the monotonic clock. */
  readonly untilMs: number;
  /** Aborted when nobody waits for the answer any more. */
  readonly abandoned: AbortSignal | undefined;
}

/** Of an active, paused or completed task. */
export async function testTask(
  deps: TestDeps,
  tenantId: TenantId,
  taskId: TaskId,
  wait: TestWait,
): Promise<Tested> {
  const { tasks, jobs } = deps.shards.forTask(taskId);
  const make: MakeRun<never> = (task, nowMs) => ({
    ...makeManualJob(task, "test", nowMs, randomRun(deps.random.bytes(2)), null),
    maxAttempts: 1,
  });
  const ran = await tasks.runTest(tenantId, taskId, make, TEST_LIMIT);
  if (ran.kind === "refused") return ran.refusal;
  if (ran.kind !== "made") return ran;
  const job = await waitForEnd(deps, jobs, ran.job, wait);
  return { kind: isFinished(job.status) ? "ended" : "under-way", job, version: ran.version };
}

/** A database that does not answer tells nothing new; the call goes on without us. */
async function waitForEnd(
  { clock }: Pick<TestDeps, "clock">,
  jobs: JobStore,
  made: Job,
  { untilMs, abandoned }: TestWait,
): Promise<Job> {
  let job = made;
  for (let polls = 0; !isFinished(job.status); polls++) {
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0 || abandoned?.aborted) break;
    const pauseMs = polls < POLLS_FIRST ? POLL_MS_FIRST : POLL_MS;
    await clock.sleep(Math.min(pauseMs, leftMs), abandoned);
    try {
      const read = await jobs.find(job.tenantId, job.id);
      // Already in history: what came of it is read there.
      if (read === null) break;
      job = read;
    } catch (error) {
      if (!(error instanceof OperatingError) || !error.retryable) throw error;
    }
  }
  return job;
}
