/** Values as SQL text. Nothing else in this adapter writes a value into a statement. */
import { escape as quote } from "mysql2";
import { assert } from "#core/domain/assert.ts";
import {
  type JobId,
  jobIdToBytes,
  type TaskId,
  taskIdToBytes,
  type WorkerId,
} from "#core/domain/ids.ts";

/** Any text. A lone surrogate has no bytes in UTF-8, and one in JSON would make the server refuse the whole group. */
export function text(value: string | null): string {
  return value === null ? "NULL" : quote(value.toWellFormed());
}

/** A value for a JSON column; null is SQL's NULL. */
export function json(value: unknown): string {
  if (value === null) return "NULL";
  const written = JSON.stringify(value);
  // Written JSON has no control characters, and quotes need no escape between apostrophes.
  const safe = PERHAPS_LONE.test(written) ? JSON.stringify(value, wellFormed) : written;
  return `'${safe.replace(/[\\']/g, "\\$&")}'`;
}

/** As lone surrogates are written, which are never seen otherwise but where a text speaks of them. */
const PERHAPS_LONE = /\\ud[89a-f]/;

function wellFormed(_: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed() : value;
}

/** What may be null, by a literal that takes no null itself. */
export function orNull<Value>(literal: (value: Value) => string) {
  return (value: Value | null) => (value === null ? "NULL" : literal(value));
}

/**
 * Expressions as columns with short names. Without one a column is called by its whole text, literals included, which travels with every
 * answer; and for each new set of names the driver compiles a parser, and keeps it.
 */
export function columns(expressions: readonly string[]): string {
  return expressions.map((expression, i) => `${expression} AS c${i}`).join(", ");
}

export function integer(value: number): string {
  assert(Number.isSafeInteger(value), "an integer goes into SQL");
  return String(value);
}

const INSTANTS_KEPT = 1_000;
const instants = new Map<number, string>();

/** A typed DATETIME(3) literal: groups need a type, and `T…Z` would fail the whole group. A batch repeats few instants often. */
export function instant(ms: number | null): string {
  if (ms === null) return "NULL";
  const kept = instants.get(ms);
  if (kept !== undefined) return kept;
  const iso = new Date(ms).toISOString();
  assert(iso.length === 24, "an instant is between the years 0 and 9999");
  const literal = `TIMESTAMP'${iso.slice(0, 10)} ${iso.slice(11, 23)}'`;
  if (instants.size >= INSTANTS_KEPT) instants.clear();
  instants.set(ms, literal);
  return literal;
}

/** The same to the microsecond, for DATETIME(6). */
export function micros(ms: number): string {
  const whole = Math.floor(ms);
  const rest = Math.min(999, Math.round((ms - whole) * 1_000));
  return `${instant(whole).slice(0, -1)}${String(rest).padStart(3, "0")}'`;
}

/** A number that may have a fraction. */
export function real(value: number): string {
  assert(Number.isFinite(value), "a number goes into SQL");
  return String(value);
}

/** An INTERVAL of `ms`, to be added to an instant. */
export function interval(ms: number): string {
  return `INTERVAL ${integer(Math.round(ms * 1_000))} MICROSECOND`;
}

export function taskId(id: TaskId): string {
  return bytes(taskIdToBytes(id));
}

export function jobId(id: JobId): string {
  return bytes(jobIdToBytes(id));
}

/** A job's primary key: its partition, and its id as a literal. */
export function jobKey(id: JobId): { readonly part: number; readonly id: string } {
  const key = jobIdToBytes(id);
  // Bytes 6 to 21 are the task's id, whose 12 rand_a bits are the partition.
  return { part: (((key[12] ?? 0) & 0x0f) << 8) | (key[13] ?? 0), id: bytes(key) };
}

/** A task's primary key: its partition, and its id as a literal. */
export function taskKey(id: TaskId): { readonly part: number; readonly id: string } {
  const key = taskIdToBytes(id);
  return { part: (((key[6] ?? 0) & 0x0f) << 8) | (key[7] ?? 0), id: bytes(key) };
}

export function workerId(id: WorkerId): string {
  assert(/^[0-9a-f]{32}$/.test(id), "a worker id is 32 hex digits");
  return `x'${id}'`;
}

export function bytes(value: Uint8Array): string {
  return `x'${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}'`;
}

/** What every job id of the instant `ms` or later is at or above: ids begin with 48 bits of `scheduled_at`. */
export function jobIdsFrom(ms: number): string {
  const prefix = Math.min(Math.max(0, Math.ceil(ms)), 2 ** 48 - 1);
  return `x'${prefix.toString(16).padStart(12, "0").padEnd(48, "0")}'`;
}
