/** Jobs of one shard. */
import { assert } from "#core/domain/assert.ts";
import type { LimitKey } from "#core/domain/call-limit.ts";
import type {
  DeadLetter,
  JobStore,
  Poll,
  PollRequest,
  QueueHead,
  Revocation,
  RunningKey,
} from "#core/ports/job-store.ts";
import { countArchivable, deleteArchived, listArchivable } from "./archive-jobs.ts";
import { cancelJob } from "./cancel-job.ts";
import { readInstant, readJobId, readTaskId } from "./cells.ts";
import { adoptClaim, claimDue } from "./claim-due.ts";
import { POLL_MS } from "./deadlines.ts";
import { giveBackJobs } from "./give-back-jobs.ts";
import { readJob } from "./job-rows.ts";
import type { Row } from "./pool.ts";
import { recordJobResults } from "./record-job-results.ts";
import { rescueJobs } from "./rescue-jobs.ts";
import { retryDead, retryOne } from "./retry-dead.ts";
import { listDeadLettersSql, selectLettersDownToSql } from "./statements/list-dead-letters.ts";
import { listHeldSql, listPastBackstopSql } from "./statements/list-running.ts";
import { pollSql } from "./statements/poll.ts";
import { listRevocationsSql } from "./statements/revocations.ts";
import {
  listJobsSql,
  listMarkedSql,
  listPresentSql,
  selectJobSql,
  selectListedDownToSql,
} from "./statements/select-jobs.ts";
import { takeCritical } from "./take-critical.ts";
import type { Database } from "./transaction.ts";

export function jobStore(database: Database): JobStore {
  return {
    async poll(request) {
      const [row] = await database.select(pollSql(request), POLL_MS);
      assert(row !== undefined, "a poll answers one row");
      return readPoll(row, request);
    },
    claimDue: (request) => claimDue(database, request),
    takeCritical: (request, plan) => takeCritical(database, request, plan),
    adopt: (claim) => adoptClaim(database, claim),
    recordResults: (results, retention) => recordJobResults(database, results, retention),
    giveBack: (held, retention) => giveBackJobs(database, held, retention),
    async listHeldBy(workers, limit) {
      if (workers.length === 0) return [];
      return (await database.select(listHeldSql(workers, limit))).map(readRunningKey);
    },
    async listPastBackstop(limit) {
      return (await database.select(listPastBackstopSql(limit))).map(readRunningKey);
    },
    rescue: (keys, retention) => rescueJobs(database, keys, retention),
    listArchivable: (limit, bytesMax, without = []) =>
      listArchivable(database, limit, bytesMax, without),
    deleteArchived: (keys) => deleteArchived(database, keys),
    countArchivable: (max) => countArchivable(database, max),
    async listRevocations(withinMs) {
      return (await database.select(listRevocationsSql(withinMs), POLL_MS)).map(readRevocation);
    },
    async listDeadLetters(tenantId, filter, before, limit, downTo = null) {
      const sql = listDeadLettersSql(tenantId, filter, before, limit, downTo);
      return (await database.select(sql)).map(readDeadLetter);
    },
    async findLettersDownTo(tenantId, filter, before, rows) {
      const [row] = await database.select(selectLettersDownToSql(tenantId, filter, before, rows));
      return row === undefined ? null : { diedAtMs: readInstant(row[0]), jobId: readJobId(row[1]) };
    },
    retryDead: (tenantId, jobs) => retryDead(database, tenantId, jobs),
    retryOne: (tenantId, id, idempotency = null, queue) =>
      retryOne(
        database,
        tenantId,
        { id, delayMs: 0, ...(queue !== undefined && { queue }) },
        idempotency,
      ),
    cancel: (tenantId, jobId, retention) => cancelJob(database, tenantId, jobId, retention),
    async listMarked(ids) {
      if (ids.length === 0) return [];
      return (await database.select(listMarkedSql(ids), POLL_MS)).map(([id]) => readJobId(id));
    },
    async listPresent(ids) {
      if (ids.length === 0) return [];
      return (await database.select(listPresentSql(ids))).map(([id]) => readJobId(id));
    },
    async find(tenantId, jobId) {
      const [row] = await database.select(selectJobSql(tenantId, jobId));
      return row === undefined ? null : readJob(row);
    },
    async listByTask(tenantId, taskId, filter, before, limit, downTo = null) {
      const sql = listJobsSql(tenantId, taskId, filter, before, limit, downTo);
      return (await database.select(sql)).map(readJob);
    },
    async findListedDownTo(taskId, filter, before, rows) {
      const [row] = await database.select(selectListedDownToSql(taskId, filter, before, rows));
      return row === undefined ? null : readJobId(row[0]);
    },
  };
}

function readPoll(row: Row, request: PollRequest): Poll {
  const [now, revocations, liveWorkers, rank, criticalTask, waits, ...cells] = row;
  const heads = new Map<number, QueueHead>();
  for (const [index, { queue }] of request.queues.entries()) {
    const head = cells[index] ?? null;
    if (head !== null) heads.set(queue, readHead(String(head)));
  }
  return {
    nowMs: readInstant(now),
    heads,
    revocations: revocations as number,
    criticalTask: criticalTask === 1,
    liveWorkers: liveWorkers as number,
    rank: rank as number,
    waiting: waits === 1,
  };
}

function readHead(cell: string): QueueHead {
  return {
    dueAtMs: readInstant(cell.slice(0, 23)),
    jobId: readJobId(Buffer.from(cell.slice(23), "hex")),
  };
}

function readDeadLetter([diedAt, ...job]: Row): DeadLetter {
  return { diedAtMs: readInstant(diedAt), job: readJob(job) };
}

function readRunningKey([id, claimNo, limitKey]: Row): RunningKey {
  return {
    id: readJobId(id),
    claimNo: claimNo as number,
    limitKey: limitKey as LimitKey | null,
  };
}

function readRevocation([taskId, jobId]: Row): Revocation {
  return { taskId: readTaskId(taskId), jobId: jobId === null ? null : readJobId(jobId) };
}
