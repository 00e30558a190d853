/** Every statement on a shard once, as text, with values that a busy shard would send. */

import { advanceTasksSql } from "#adapters/mysql/statements/advance-tasks.ts";
import * as archiveJobs from "#adapters/mysql/statements/archive-jobs.ts";
import * as backlog from "#adapters/mysql/statements/backlog.ts";
import * as cancelJob from "#adapters/mysql/statements/cancel-job.ts";
import { claimJobsSql } from "#adapters/mysql/statements/claim-jobs.ts";
import { selectClockSql } from "#adapters/mysql/statements/clock.ts";
import * as editJobs from "#adapters/mysql/statements/edit-jobs.ts";
import { giveBackJobsSql } from "#adapters/mysql/statements/give-back-jobs.ts";
import * as idempotencyKeys from "#adapters/mysql/statements/idempotency-keys.ts";
import { insertJobsSql } from "#adapters/mysql/statements/insert-jobs.ts";
import * as insertTask from "#adapters/mysql/statements/insert-task.ts";
import * as insertTaskVersion from "#adapters/mysql/statements/insert-task-version.ts";
import * as interruptJobs from "#adapters/mysql/statements/interrupt-jobs.ts";
import * as limitedLines from "#adapters/mysql/statements/limited-lines.ts";
import * as lineUpJobs from "#adapters/mysql/statements/line-up-jobs.ts";
import {
  listDeadLettersSql,
  selectLettersDownToSql,
} from "#adapters/mysql/statements/list-dead-letters.ts";
import * as listRunning from "#adapters/mysql/statements/list-running.ts";
import { listTasksSql, selectTasksDownToSql } from "#adapters/mysql/statements/list-tasks.ts";
import { lockTenantSql } from "#adapters/mysql/statements/lock-tenant.ts";
import { lockLeaseSql, lockWorkerSql } from "#adapters/mysql/statements/lock-worker.ts";
import { lookAheadSql } from "#adapters/mysql/statements/look-ahead.ts";
import { noteRunsSql } from "#adapters/mysql/statements/note-runs.ts";
import { pollSql } from "#adapters/mysql/statements/poll.ts";
import * as purgeTasks from "#adapters/mysql/statements/purge-tasks.ts";
import * as recordResults from "#adapters/mysql/statements/record-results.ts";
import { releaseJobsSql } from "#adapters/mysql/statements/release-jobs.ts";
import * as rescueJobs from "#adapters/mysql/statements/rescue-jobs.ts";
import * as retryJobs from "#adapters/mysql/statements/retry-jobs.ts";
import * as revocations from "#adapters/mysql/statements/revocations.ts";
import { selectAdoptedSql } from "#adapters/mysql/statements/select-adopted.ts";
import { selectClaimableSql, selectMadeSql } from "#adapters/mysql/statements/select-claimable.ts";
import * as selectDueTasks from "#adapters/mysql/statements/select-due-tasks.ts";
import * as selectJobs from "#adapters/mysql/statements/select-jobs.ts";
import * as selectTask from "#adapters/mysql/statements/select-task.ts";
import { selectVersionsSql } from "#adapters/mysql/statements/select-versions.ts";
import * as taskQuota from "#adapters/mysql/statements/task-quota.ts";
import * as testCalls from "#adapters/mysql/statements/test-calls.ts";
import { updateTaskSql } from "#adapters/mysql/statements/update-task.ts";
import * as walkJobs from "#adapters/mysql/statements/walk-jobs.ts";
import * as workers from "#adapters/mysql/statements/workers.ts";
import { tenantKey } from "#core/domain/call-limit.ts";
import {
  makeJobId,
  makeTaskId,
  makeWorkerId,
  type TaskId,
  type TenantId,
} from "#core/domain/ids.ts";
import type { AttemptRecord } from "#core/domain/job.ts";
import { makeScheduledJob } from "#core/domain/make-job.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import type { Task, TaskVersion } from "#core/domain/task.ts";
import type { ClaimedJob, JobResult } from "#core/ports/job-store.ts";
import { limitSingles } from "./limit-samples.ts";
import { secretGroups, secretSingles } from "./secret-samples.ts";

export interface Sample {
  /** The function that writes it, and the case. */
  readonly name: string;
  readonly sql: string;
}

const SMALL = 24;
const LARGE = 500;
const NOW_MS = Date.UTC(2026, 11, 1, 9);
const TENANT = "tenant-7" as TenantId;
const RETENTION = { succeededMs: 3_600_000, endedMs: 1_209_600_000 };
const WORKER = makeWorkerId(new Uint8Array(16).fill(7));
const KEY = { route: "POST /v1/tasks", key: "k", bodyHash: "00".repeat(32), expiresInMs: 1 };
const OTHER_WORKER = makeWorkerId(new Uint8Array(16).fill(8));

function sampleTask(n: number): Task {
  const random = new Uint8Array(8);
  new DataView(random.buffer).setUint32(4, n);
  return {
    id: makeTaskId(0x019000000000, n % 4096, random),
    tenantId: TENANT,
    name: `task ${n}`,
    description: null,
    tags: ["a"],
    status: "active",
    schedule: { type: "cron", expression: "* * * * *", timezone: "UTC" },
    priority: "high",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    nextRunAtMs: NOW_MS,
    madeUntilMs: null,
    version: 1,
    requestVersion: 1,
    timeoutMs: 30_000,
    maxAttempts: 5,
    error: null,
    createdAtMs: NOW_MS,
    updatedAtMs: NOW_MS,
  };
}

function versionOf(taskId: TaskId): TaskVersion {
  return {
    taskId,
    requestVersion: 1,
    request: { method: "GET", url: "http://127.0.0.1/", headers: {}, body: null, bodyBase64: null },
    timeoutMs: 30_000,
    retry: RETRY_DEFAULT,
  };
}

function claimedJob(task: Task): ClaimedJob {
  const { timeoutMs, maxAttempts, tenantId } = task;
  return {
    id: makeJobId(NOW_MS, task.id, 0),
    taskId: task.id,
    tenantId,
    taskVersion: 1,
    trigger: "schedule",
    queue: 16,
    scheduledAtMs: NOW_MS,
    runAtMs: NOW_MS,
    dueAtMs: NOW_MS,
    claimNo: 1,
    attempt: 1,
    lost: 0,
    maxAttempts,
    timeoutMs,
    limitKey: null,
  };
}

const RECORD: AttemptRecord = {
  attempt: 1,
  startedAtMs: NOW_MS,
  lagMs: 1,
  durationMs: 2,
  statusCode: 500,
  error: null,
  responseBody: "no",
};

/** Group statements in two sizes: the optimiser has chosen differently for few rows before. */
function groups(size: number): Sample[] {
  const tasks = Array.from({ length: size }, (_, n) => sampleTask(n));
  const jobs = tasks.map(claimedJob);
  const held = jobs.map(({ id, claimNo, limitKey }) => ({
    id,
    claimNo,
    limitKey,
    workerId: WORKER,
  }));
  const failed = held.map((key) => ({
    ...key,
    kind: "fail" as const,
    record: RECORD,
    retryAtMs: NOW_MS,
    retryQueue: 17,
    finalReason: null,
    maybeDead: true,
  }));
  const succeeded = held.map((key) => ({ ...key, kind: "succeed" as const, record: RECORD }));
  const interrupted = held.map((key) => ({ ...key, kind: "interrupt" as const, record: RECORD }));
  const ended = [...failed.slice(0, size / 2), ...succeeded.slice(size / 2)] satisfies JobResult[];
  const advances = tasks.map((task) => ({
    taskId: task.id,
    wasNextRunAtMs: NOW_MS,
    nextRunAtMs: NOW_MS + 60_000,
    madeUntilMs: NOW_MS,
    error: null,
  }));
  const claim = { workerId: WORKER, claimedAtMs: NOW_MS, jobs };
  const keys = tasks.map((task) => ({ taskId: task.id, requestVersion: 1 }));
  const finished = jobs.map((job) => ({ ...job, status: "dead" as const }));
  const idempotencyRows = tasks.map(({ id }) => {
    return { part: 7, tenantId: TENANT, route: "POST /v1/tasks", key: id };
  });
  const { insertDeadLettersSql, recordResultsSql } = recordResults;
  const made = tasks.map((task) => makeScheduledJob(task, "schedule", NOW_MS, NOW_MS));
  const jobIds = jobs.map(({ id }) => id);
  const statements = {
    cancelJobsSql: editJobs.cancelJobsSql(jobIds, "task paused", NOW_MS, RETENTION),
    selectLeftLimitedSql: editJobs.selectLeftLimitedSql(jobIds),
    deletePlannedJobsSql: editJobs.deletePlannedJobsSql(jobIds),
    deleteUnclaimedJobsSql: editJobs.deleteUnclaimedJobsSql(jobIds, NOW_MS),
    lockJobsSql: editJobs.lockJobsSql(jobIds),
    resumeClaimedJobsSql: editJobs.resumeClaimedJobsSql(jobIds, NOW_MS, sampleTask(0), null),
    resumeRunningJobsSql: editJobs.resumeRunningJobsSql(jobIds),
    claimJobsSql: claimJobsSql(jobs, WORKER, NOW_MS),
    "claimJobsSql, from lines": claimJobsSql(jobs, WORKER, NOW_MS, "waiting"),
    lockWaitingSql: limitedLines.lockWaitingSql(jobs),
    lineUpSql: limitedLines.lineUpSql(jobs),
    leaveLinesSql: limitedLines.leaveLinesSql(jobs),
    deleteLimitedSql: limitedLines.deleteLimitedSql(jobIds),
    releaseJobsSql: releaseJobsSql(jobs, null),
    listUnlinedSql: lineUpJobs.listUnlinedSql(
      tenantKey(TENANT),
      tasks.map(({ id }) => id),
      NOW_MS,
    ),
    lineUpJobsSql: lineUpJobs.lineUpJobsSql(tenantKey(TENANT), jobs),
    "giveBackJobsSql, into lines": giveBackJobsSql(held, RETENTION, true),
    "recordResultsSql, into lines": recordResultsSql(ended, RETENTION, true),
    "returnInterruptedSql, into lines": interruptJobs.returnInterruptedSql(
      interrupted,
      RETENTION,
      true,
    ),
    "rescuePendingSql, into lines": rescueJobs.rescuePendingSql(jobs, true),
    giveBackJobsSql: giveBackJobsSql(held, RETENTION, false),
    insertJobsSql: insertJobsSql(made),
    insertDeadLettersSql: insertDeadLettersSql(failed),
    recordResultsSql: recordResultsSql(ended, RETENTION, false),
    insertInterruptedDeadLettersSql: interruptJobs.insertInterruptedDeadLettersSql(interrupted),
    endInterruptedSql: interruptJobs.endInterruptedSql(interrupted, RETENTION),
    returnInterruptedSql: interruptJobs.returnInterruptedSql(interrupted, RETENTION, false),
    insertRescuedDeadLettersSql: rescueJobs.insertRescuedDeadLettersSql(jobs),
    selectArchivableSql: archiveJobs.selectArchivableSql(jobs),
    lockArchivedSql: archiveJobs.lockArchivedSql(finished),
    deleteArchivedSql: archiveJobs.deleteArchivedSql(finished),
    selectTasksWithJobsSql: purgeTasks.selectTasksWithJobsSql(tasks.map(({ id }) => id)),
    deleteTasksSql: purgeTasks.deleteTasksSql(tasks.map(({ id }) => id)),
    noteRunsSql: noteRunsSql(tasks.map(({ id }) => id)),
    deleteExpiredKeysSql: idempotencyKeys.deleteExpiredKeysSql(idempotencyRows),
    insertTasksSql: insertTask.insertTasksSql(
      tasks.map((task) => ({
        task: { ...task, id: makeTaskId(NOW_MS, 4, new Uint8Array(8)) },
        version: versionOf(task.id),
      })),
    ),
    insertTaskVersionsSql: insertTaskVersion.insertTaskVersionsSql(
      tasks.map(({ id }) => versionOf(id)),
    ),
    selectNamesSql: taskQuota.selectNamesSql(
      TENANT,
      tasks.map(({ name }) => name),
    ),
    lockTasksSql: retryJobs.lockTasksSql(
      TENANT,
      tasks.map(({ id }) => id),
      "share",
    ),
    lockDeadJobsSql: retryJobs.lockDeadJobsSql(
      TENANT,
      jobs.map(({ id }) => id),
    ),
    retryJobsSql: retryJobs.retryJobsSql(
      jobs.map(({ id }) => ({ id, runAtMs: NOW_MS, queue: 33, moreAttempts: 5, limitKey: null })),
    ),
    deleteLettersSql: retryJobs.deleteLettersSql(
      TENANT,
      jobs.map(({ id }) => id),
    ),
    rescueDeadSql: rescueJobs.rescueDeadSql(jobs, RETENTION),
    rescueCancelledSql: rescueJobs.rescueCancelledSql(jobs, RETENTION),
    rescuePendingSql: rescueJobs.rescuePendingSql(jobs, false),
    advanceTasksSql: advanceTasksSql(advances),
    selectAdoptedSql: selectAdoptedSql(claim),
    selectVersionsSql: selectVersionsSql(keys),
    ...secretGroups(tasks.map(({ id }) => id)),
  };
  return Object.entries(statements).map(([name, sql]) => ({ name, sql }));
}

function singles(): Sample[] {
  const task = sampleTask(7);
  const { id } = task;
  const job = makeJobId(NOW_MS, id, 0);
  const queues = [0, 16, 32, 48].map((queue) => ({ queue, floorMs: NOW_MS }));
  const head = { dueAtMs: NOW_MS, jobId: job };
  const branches = queues.map(({ queue }) => ({ queue, limit: 300, head }));
  const claim = { workerId: WORKER, branches, aheadMs: 1_000, limit: 500 };
  const poll = { workerId: WORKER, queues, revocationsWithinMs: 30_000 };
  const tasksFilter = { status: null, priority: "high" as const, tag: "a" };
  const jobsFilter = { statuses: ["pending" as const, "dead" as const], fromMs: 0, toMs: NOW_MS };
  const statements = {
    selectPageEndSql: walkJobs.selectPageEndSql(id, job, 2_000),
    "selectPageEndSql, first": walkJobs.selectPageEndSql(id, null, 2_000),
    selectWalkedJobsSql: walkJobs.selectWalkedJobsSql(id, job, job, "open"),
    "selectWalkedJobsSql, all": walkJobs.selectWalkedJobsSql(id, null, null, "running"),
    updateJobsBelowSql: walkJobs.updateJobsBelowSql(id, job),
    listUnfinishedSql: walkJobs.listUnfinishedSql(100),
    lockJobsBelowSql: walkJobs.lockJobsBelowSql(TENANT, id),
    selectPausedJobsSql: editJobs.selectPausedJobsSql(id, NOW_MS),
    selectPlannedJobsSql: editJobs.selectPlannedJobsSql(id, NOW_MS),
    selectClockSql: selectClockSql(),
    selectJobsAheadSql: editJobs.selectJobsAheadSql(id, NOW_MS),
    selectMadeOccurrencesSql: editJobs.selectMadeOccurrencesSql(id, NOW_MS, NOW_MS),
    insertTaskSql: insertTask.insertTaskSql({
      task: { ...task, id: makeTaskId(NOW_MS, 4, new Uint8Array(8)) },
      version: versionOf(id),
    }),
    insertTaskVersionSql: insertTaskVersion.insertTaskVersionSql(versionOf(id)),
    updateTaskSql: updateTaskSql(task, versionOf(id)),
    listTasksSql: listTasksSql(TENANT, tasksFilter, id, 50, id),
    "listTasksSql, plain": listTasksSql(
      TENANT,
      { status: null, priority: null, tag: null },
      null,
      50,
      null,
    ),
    selectTasksDownToSql: selectTasksDownToSql(TENANT, { status: null }, id, 5_000),
    "selectTasksDownToSql, by status": selectTasksDownToSql(
      TENANT,
      { status: "completed" },
      null,
      5_000,
    ),
    selectTaskSql: selectTask.selectTaskSql(TENANT, id, "update"),
    selectTaskByNameSql: selectTask.selectTaskByNameSql(TENANT, "task 7"),
    "listTasksSql, by status": listTasksSql(
      TENANT,
      { status: "paused", priority: null, tag: null },
      id,
      50,
      null,
    ),
    reserveKeySql: idempotencyKeys.reserveKeySql(TENANT, KEY),
    selectKeySql: idempotencyKeys.selectKeySql(TENANT, KEY),
    findAnswerSql: idempotencyKeys.findAnswerSql(TENANT, KEY),
    keepAnswerSql: idempotencyKeys.keepAnswerSql(TENANT, KEY, "{}"),
    ...secretSingles(id),
    countOpenTasksSql: taskQuota.countOpenTasksSql(TENANT, 10_001),
    lockTenantSql: lockTenantSql(TENANT),
    lockTestCallsSql: testCalls.lockTestCallsSql(TENANT),
    selectTestCallsSql: testCalls.selectTestCallsSql(TENANT),
    noteTestCallsSql: testCalls.noteTestCallsSql(TENANT, [NOW_MS]),
    selectTaskExistsSql: selectTask.selectTaskExistsSql(TENANT, id),
    lockWorkerSql: lockWorkerSql(WORKER),
    lockLeaseSql: lockLeaseSql(WORKER, 1_000),
    ...limitSingles(sampleTask(7).id),
    lookAheadSql: lookAheadSql(30_000, 300_000, 5_000),
    selectMadeSql: selectMadeSql([{ id: job }]),
    pollSql: pollSql(poll),
    selectClaimableSql: selectClaimableSql(claim),
    selectCriticalTasksSql: selectDueTasks.selectCriticalTasksSql(32),
    selectMissedTasksSql: selectDueTasks.selectMissedTasksSql(60_000, 25, 200),
    selectDueTasksSql: selectDueTasks.selectDueTasksSql(NOW_MS - 60_000, NOW_MS + 30_000, 1_000),
    listDeadLettersSql: listDeadLettersSql(
      TENANT,
      { taskId: id, fromMs: 0, toMs: NOW_MS, retriable: true },
      { diedAtMs: NOW_MS, jobId: job },
      50,
      { diedAtMs: 0, jobId: job },
    ),
    "listDeadLettersSql, plain": listDeadLettersSql(
      TENANT,
      { taskId: null, fromMs: null, toMs: null },
      { diedAtMs: NOW_MS, jobId: job },
      50,
      null,
    ),
    selectLettersDownToSql: selectLettersDownToSql(
      TENANT,
      { taskId: null, fromMs: null, toMs: NOW_MS },
      { diedAtMs: NOW_MS, jobId: job },
      1_000,
    ),
    lockJobSql: cancelJob.lockJobSql(TENANT, job),
    cancelJobSql: cancelJob.cancelJobSql({
      ...makeScheduledJob(task, "schedule", NOW_MS, NOW_MS),
      status: "cancelled",
    }),
    listPresentSql: selectJobs.listPresentSql([job]),
    listMarkedSql: selectJobs.listMarkedSql([job]),
    selectJobSql: selectJobs.selectJobSql(TENANT, job),
    listJobsSql: selectJobs.listJobsSql(TENANT, id, jobsFilter, job, 50, job),
    selectListedDownToSql: selectJobs.selectListedDownToSql(id, jobsFilter, job, 5_000),
    "listJobsSql, plain": selectJobs.listJobsSql(
      TENANT,
      id,
      { statuses: null, fromMs: null, toMs: null },
      null,
      50,
      null,
    ),
    insertRevocationSql: revocations.insertRevocationSql(id, null),
    listRevocationsSql: revocations.listRevocationsSql(30_000),
    pruneRevocationsSql: revocations.pruneRevocationsSql(100),
    selectArchiveHeadsSql: archiveJobs.selectArchiveHeadsSql(),
    listArchivableSql: archiveJobs.listArchivableSql(archiveJobs.ARCHIVE_RANGES, 1_000),
    countArchivableSql: archiveJobs.countArchivableSql(archiveJobs.ARCHIVE_RANGES, 100_000),
    selectBacklogHeadsSql: backlog.selectBacklogHeadsSql(60_000),
    countBacklogSql: backlog.countBacklogSql([
      { ranges: backlog.WAITING_RANGES, aheadMs: 60_000, max: 20_000 },
    ]),
    lockEndedTasksSql: purgeTasks.lockEndedTasksSql(86_400_000, 100),
    listExpiredKeysSql: idempotencyKeys.listExpiredKeysSql(100),
    insertWorkerSql: workers.insertWorkerSql(WORKER, 6_000),
    renewWorkerSql: workers.renewWorkerSql(WORKER, 6_000),
    selectWorkerSql: workers.selectWorkerSql(WORKER),
    fenceWorkerSql: workers.fenceWorkerSql(WORKER),
    listExpiredWorkersSql: workers.listExpiredWorkersSql(100),
    shortenLeasesSql: workers.shortenLeasesSql(),
    listHeldSql: listRunning.listHeldSql([WORKER, OTHER_WORKER], 500),
    listPastBackstopSql: listRunning.listPastBackstopSql(500),
    listFencedWorkersSql: workers.listFencedWorkersSql(100),
    listPrunableWorkersSql: workers.listPrunableWorkersSql(100),
    selectHoldersSql: workers.selectHoldersSql([WORKER, OTHER_WORKER]),
    deleteFencedWorkersSql: workers.deleteFencedWorkersSql([WORKER, OTHER_WORKER]),
    deleteWorkerSql: workers.deleteWorkerSql(WORKER),
  };
  return Object.entries(statements).map(([name, sql]) => ({ name, sql }));
}

/** Statements on the shard's database. */
export function shardSamples(): Sample[] {
  const sized = (size: number) =>
    groups(size).map(({ name, sql }) => ({ name: `${name}, ${size} rows`, sql }));
  return [...singles(), ...sized(SMALL), ...sized(LARGE)];
}
