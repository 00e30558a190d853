/**
 * Identifiers. A task's id names its partition, a job's id contains its task's id and its instant, so an id alone finds the
 * shard, the task and the month of history. Nothing is derived from a name: renaming, deleting and re-creating never meet an old id.
 *
 *   task  16 bytes  UUIDv7: 48 bits ms | version 7 | 12 bits partition | variant | 62 random bits    task_ + 26 characters
 *   job   24 bytes  48 bits scheduled_at ms | 16 bytes task id | 16 bits run number                   job_  + 39 characters
 */
import { assert } from "./assert.ts";
import { decodeBase32, encodeBase32 } from "./base32.ts";
import { PARTITIONS } from "./limits.ts";

declare const brand: unique symbol;
export type TaskId = string & { readonly [brand]: "TaskId" };
export type JobId = string & { readonly [brand]: "JobId" };
export type TenantId = string & { readonly [brand]: "TenantId" };
/** One life of one executor process: 32 hex digits, fresh per process and after every fence. */
export type WorkerId = string & { readonly [brand]: "WorkerId" };

const TASK_PREFIX = "task_";
const JOB_PREFIX = "job_";
const TASK_BYTES = 16;
const JOB_BYTES = 24;
const INSTANT_MS_MAX = 2 ** 48 - 1;
/** The run number of the occurrence itself; manual and covering rows carry a random one from 1 to RUN_MAX. */
export const RUN_OF_OCCURRENCE = 0;
/** Of a row that stands for several occurrences: the first one's own id may exist, and the row must not be taken for it. */
export const RUN_OF_SEVERAL = 0xffff;
export const RUN_MAX = 0xffff;

/** A tenant's partition, 0 to 4,095: FNV-1a (32 bit) of its id. */
export function partitionOfTenant(tenantId: TenantId): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < tenantId.length; i++) {
    const code = tenantId.charCodeAt(i);
    assert(code < 128, "tenant ids are ASCII");
    hash = Math.imul(hash ^ code, 0x01000193) >>> 0;
  }
  return hash % PARTITIONS;
}

/** Makes a task id from the creation time, its partition and 8 random bytes. */
export function makeTaskId(nowMs: number, part: number, random: Uint8Array): TaskId {
  assert(random.length === 8, "a task id takes 8 random bytes");
  assert(Number.isInteger(part) && part >= 0 && part < PARTITIONS, "partition in range");
  const bytes = new Uint8Array(TASK_BYTES);
  writeInstant(bytes, nowMs);
  bytes[6] = 0x70 | (part >>> 8);
  bytes[7] = part & 0xff;
  bytes.set(random, 8);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return taskIdFromBytes(bytes);
}

/** The partition that a task's id carries. */
export function partitionOfTask(id: TaskId): number {
  return partitionOfTaskBytes(taskIdToBytes(id));
}

/** Reads untrusted text; null when it is not a task id of ours. */
export function parseTaskId(text: string): TaskId | null {
  if (!text.startsWith(TASK_PREFIX)) return null;
  const bytes = decodeBase32(text.slice(TASK_PREFIX.length), TASK_BYTES);
  return bytes !== null && isTaskBytes(bytes) ? (text as TaskId) : null;
}

export function taskIdToBytes(id: TaskId): Uint8Array {
  const bytes = decodeBase32(id.slice(TASK_PREFIX.length), TASK_BYTES);
  assert(bytes !== null, `malformed task id ${id}`);
  return bytes;
}

export function taskIdFromBytes(bytes: Uint8Array): TaskId {
  assert(bytes.length === TASK_BYTES, "a task id has 16 bytes");
  return (TASK_PREFIX + encodeBase32(bytes)) as TaskId;
}

/** The id of one execution: the same (task, occurrence) always makes the same id, so a second insert meets the primary key. */
export function makeJobId(scheduledAtMs: number, taskId: TaskId, run: number): JobId {
  assert(Number.isInteger(run) && run >= 0 && run <= RUN_MAX, "run number in range");
  const bytes = new Uint8Array(JOB_BYTES);
  writeInstant(bytes, scheduledAtMs);
  bytes.set(taskIdToBytes(taskId), 6);
  bytes[22] = run >>> 8;
  bytes[23] = run & 0xff;
  return jobIdFromBytes(bytes);
}

/** A random run number from two random bytes, never that of the occurrence itself. */
export function randomRun(random: Uint8Array): number {
  const run = ((random[0] ?? 0) << 8) | (random[1] ?? 0);
  return run === RUN_OF_OCCURRENCE ? 1 : run;
}

/** Reads untrusted text; null when it is not a job id of ours. */
export function parseJobId(text: string): JobId | null {
  if (!text.startsWith(JOB_PREFIX)) return null;
  const bytes = decodeBase32(text.slice(JOB_PREFIX.length), JOB_BYTES);
  return bytes !== null && isTaskBytes(bytes.subarray(6, 22)) ? (text as JobId) : null;
}

/** What a job's id says: its instant, its task and its run number. */
export function partsOfJobId(id: JobId): { scheduledAtMs: number; taskId: TaskId; run: number } {
  const bytes = jobIdToBytes(id);
  return {
    scheduledAtMs: readInstant(bytes),
    taskId: taskIdFromBytes(bytes.subarray(6, 22)),
    run: ((bytes[22] ?? 0) << 8) | (bytes[23] ?? 0),
  };
}

export function jobIdToBytes(id: JobId): Uint8Array {
  const bytes = decodeBase32(id.slice(JOB_PREFIX.length), JOB_BYTES);
  assert(bytes !== null, `malformed job id ${id}`);
  return bytes;
}

export function jobIdFromBytes(bytes: Uint8Array): JobId {
  assert(bytes.length === JOB_BYTES, "a job id has 24 bytes");
  return (JOB_PREFIX + encodeBase32(bytes)) as JobId;
}

/** The partition inside a job's id. */
export function partitionOfJob(id: JobId): number {
  return partitionOfTaskBytes(jobIdToBytes(id).subarray(6, 22));
}

/** A worker id from 16 random bytes. */
export function makeWorkerId(random: Uint8Array): WorkerId {
  assert(random.length === 16, "a worker id takes 16 random bytes");
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("") as WorkerId;
}

/** Reads untrusted text as a tenant id: 1 to 64 of a-z, 0-9, `-`, `_`, beginning with a letter or digit. */
export function parseTenantId(text: string): TenantId | null {
  return /^[a-z0-9][a-z0-9_-]{0,63}$/.test(text) ? (text as TenantId) : null;
}

function isTaskBytes(bytes: Uint8Array): boolean {
  return (bytes[6] ?? 0) >>> 4 === 7 && (bytes[8] ?? 0) >>> 6 === 2;
}

function partitionOfTaskBytes(bytes: Uint8Array): number {
  return (((bytes[6] ?? 0) & 0x0f) << 8) | (bytes[7] ?? 0);
}

function writeInstant(bytes: Uint8Array, ms: number): void {
  assert(Number.isInteger(ms) && ms >= 0 && ms <= INSTANT_MS_MAX, "instant fits 48 bits");
  let rest = ms;
  for (let i = 5; i >= 0; i--) {
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
}

function readInstant(bytes: Uint8Array): number {
  let ms = 0;
  for (let i = 0; i < 6; i++) ms = ms * 256 + (bytes[i] ?? 0);
  return ms;
}
