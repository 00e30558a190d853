/** The table jobs_by_task: its statements and its rows. `{table}` stands for keyspace and table. */
import { types } from "cassandra-driver";
import { assert } from "#core/domain/assert.ts";
import { StoreRefused } from "#core/domain/errors.ts";
import { type HistoryEntry, historyOrderOf } from "#core/domain/history.ts";
import {
  type JobId,
  jobIdFromBytes,
  jobIdToBytes,
  partsOfJobId,
  type TaskId,
  type TenantId,
  taskIdToBytes,
} from "#core/domain/ids.ts";
import type { Job, JobStatus, Trigger } from "#core/domain/job.ts";
import { HISTORY_ROW_BYTES_MAX, HISTORY_WRITE_AGE_MS_MAX } from "#core/domain/limits.ts";
import { decodeDocument, encodeDocument } from "./document.ts";
import { monthOf, type Step } from "./months.ts";

const PARTITION = "tenant_id = ? AND task_id = ? AND month = ?";
const COLUMNS = "job_id, status, trigger, document";

export interface Statements {
  readonly insert: string;
  readonly find: string;
  readonly range: string;
  readonly instant: string;
}

/** The keyspace is an identifier: lower-case letters, digits and `_` only. */
export function statementsFor(keyspace: string): Statements {
  assert(
    /^[a-z][a-z0-9_]{0,47}$/.test(keyspace),
    "a keyspace has lower-case letters, digits and _",
  );
  const table = `${keyspace}.jobs_by_task`;
  const select = `SELECT ${COLUMNS} FROM ${table} WHERE ${PARTITION}`;
  return {
    // All columns, always: cells of an earlier copy never show through. The table's own TTL applies.
    insert: `INSERT INTO ${table} (tenant_id, task_id, month, scheduled_at, job_id, status, trigger, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
    find: `${select} AND scheduled_at = ? AND job_id = ?`,
    range: `${select} AND scheduled_at >= ? AND scheduled_at < ?`,
    instant: `${select} AND scheduled_at = ? AND job_id < ?`,
  };
}

/** Parameters of `insert` at `nowMs`. Throws StoreRefused for a job that no row can hold. */
export function insertParams(entry: HistoryEntry, nowMs: number): unknown[] {
  const { job } = entry;
  const { scheduledAtMs, taskId } = partsOfJobId(job.id);
  assert(
    scheduledAtMs === job.scheduledAtMs && taskId === job.taskId,
    "a job's id says where it is",
  );
  const document = encodeDocument(entry);
  if (Buffer.byteLength(document) > HISTORY_ROW_BYTES_MAX) {
    throw new StoreRefused(`history has no row as large as job ${job.id}`);
  }
  return [
    ...keyParams(job.tenantId, job.id),
    job.status,
    job.trigger,
    document,
    types.Long.fromNumber(writtenAs(job, nowMs)),
  ];
}

/**
 * The timestamp of a write. What was not archived for days is raised to a day ago, which leaves it below the job's next end: that one
 * comes after the copy was read, and a copy is read within minutes of its write.
 */
function writtenAs(job: Job, nowMs: number): number {
  return Math.max(historyOrderOf(job), (nowMs - HISTORY_WRITE_AGE_MS_MAX) * 1_000);
}

/** The whole primary key of a job. */
export function keyParams(tenantId: TenantId, jobId: JobId): unknown[] {
  const { scheduledAtMs, taskId } = partsOfJobId(jobId);
  return [
    ...partitionParams(tenantId, taskId, monthOf(scheduledAtMs)),
    new Date(scheduledAtMs),
    Buffer.from(jobIdToBytes(jobId)),
  ];
}

/** Parameters of `range` or `instant`. */
export function stepParams(tenantId: TenantId, taskId: TaskId, step: Step): unknown[] {
  const partition = partitionParams(tenantId, taskId, step.month);
  return step.kind === "range"
    ? [...partition, new Date(step.fromMs), new Date(step.toMs)]
    : [...partition, new Date(step.atMs), Buffer.from(jobIdToBytes(step.below))];
}

function partitionParams(tenantId: TenantId, taskId: TaskId, month: number): unknown[] {
  return [tenantId, Buffer.from(taskIdToBytes(taskId)), month];
}

export function jobIdOfRow(row: types.Row): JobId {
  return jobIdFromBytes(row.get("job_id") as Buffer);
}

export function statusOfRow(row: types.Row): JobStatus {
  return row.get("status") as JobStatus;
}

/** Throws StoreRefused for a row that is not one of ours. */
export function entryOfRow(tenantId: TenantId, row: types.Row): HistoryEntry {
  const id = jobIdOfRow(row);
  const key = { tenantId, id, status: statusOfRow(row), trigger: row.get("trigger") as Trigger };
  try {
    return decodeDocument(key, row.get("document") as string);
  } catch (cause) {
    throw new StoreRefused(`history cannot read its row of job ${id}`, { cause });
  }
}
