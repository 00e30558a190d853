/**
 * What is kept of a finished job. A job is archived once per end: a dead job that is retried ends again, so copies of one job are
 * ordered by `historyOrderOf`, and the highest stays whatever the order of arrival.
 */
import { assert } from "./assert.ts";
import type { AttemptRecord, Job, Payload } from "./job.ts";
import {
  FAILURE_BODY_BYTES_KEPT,
  HISTORY_BODY_BYTES_MAX,
  SUCCESS_BODY_BYTES_KEPT,
} from "./limits.ts";
import { isSuccess } from "./retry-policy.ts";
import type { HttpRequest } from "./task.ts";

/** A body that is not kept. `sha256` is in hex. */
export interface DroppedBody {
  readonly bytes: number;
  readonly sha256: string;
}

/** A request as history keeps it: a body over HISTORY_BODY_BYTES_MAX is kept as its hash and size. */
export interface HistoryRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly bodyBase64: string | null;
  readonly bodyBytes: number;
  /** SHA-256 (hex) of a body that is not kept. */
  readonly bodySha256: string | null;
}

export interface HistoryEntry {
  /** Responses cut to what history keeps; `payload` without a body that is not kept. */
  readonly job: Job;
  /** What was sent; null when the version it was planned from is gone. */
  readonly request: HistoryRequest | null;
  /** The body of the payload when it is not kept: such a run cannot be made anew as it was. */
  readonly payloadBody: DroppedBody | null;
}

/** SHA-256 in hex. */
export type Sha256 = (bytes: Uint8Array) => string;

const CLAIMS_IN_ORDER_MAX = 999;

/**
 * Grows with every copied end of the same job; in microseconds of the epoch, as Cassandra counts, and a safe integer until 2255.
 *
 * It says when the job was to be archived, not when it ended: a death is copied 14 days after it, and Amazon Keyspaces takes nothing
 * that is so old. A copy is made at `dueAtMs` at the earliest, and what is copied ends again only after that, with a later `dueAtMs`.
 */
export function historyOrderOf(job: Job): number {
  const order = job.dueAtMs * 1_000 + Math.min(job.claimNo, CLAIMS_IN_ORDER_MAX);
  assert(Number.isSafeInteger(order), "a job's end fits the history's order");
  return order;
}

/** What history keeps of a job. `request` is what was sent: the version's with the payload laid over. */
export function historyEntryOf(
  job: Job,
  request: HistoryRequest | null,
  sha256: Sha256,
): HistoryEntry {
  const { payload, dropped } = keepPayload(job.payload, sha256);
  const attempts = Object.fromEntries(
    Object.entries(job.attempts).map(([claimNo, record]) => [claimNo, cutResponse(record)]),
  );
  return { job: { ...job, attempts, payload }, request, payloadBody: dropped };
}

export function historyRequestOf(request: HttpRequest, sha256: Sha256): HistoryRequest {
  const { method, url, headers, body, bodyBase64 } = request;
  const bytes = bodyBytesOf(body, bodyBase64);
  if (bytes.length <= HISTORY_BODY_BYTES_MAX) {
    const kept = { method, url, headers, body, bodyBase64 };
    return { ...kept, bodyBytes: bytes.length, bodySha256: null };
  }
  return {
    method,
    url,
    headers,
    body: null,
    bodyBase64: null,
    bodyBytes: bytes.length,
    bodySha256: sha256(bytes),
  };
}

function keepPayload(
  payload: Payload | null,
  sha256: Sha256,
): { payload: Payload | null; dropped: DroppedBody | null } {
  if (payload === null) return { payload, dropped: null };
  const bytes = bodyBytesOf(payload.body ?? null, payload.bodyBase64 ?? null);
  if (bytes.length <= HISTORY_BODY_BYTES_MAX) return { payload, dropped: null };
  const { body: _body, bodyBase64: _bodyBase64, ...rest } = payload;
  return { payload: rest, dropped: { bytes: bytes.length, sha256: sha256(bytes) } };
}

function cutResponse(record: AttemptRecord): AttemptRecord {
  const { statusCode, responseBody } = record;
  if (responseBody === null) return record;
  const succeeded = statusCode !== null && isSuccess(statusCode);
  const bytesMax = succeeded ? SUCCESS_BODY_BYTES_KEPT : FAILURE_BODY_BYTES_KEPT;
  return { ...record, responseBody: cutToBytes(responseBody, bytesMax) };
}

/** The longest beginning of whole characters that takes at most `bytesMax` bytes in UTF-8. */
export function cutToBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return text.slice(0, read);
}

function bodyBytesOf(body: string | null, bodyBase64: string | null): Uint8Array {
  if (body !== null) return new TextEncoder().encode(body);
  if (bodyBase64 === null) return new Uint8Array();
  return Uint8Array.from(atob(bodyBase64), (character) => character.charCodeAt(0));
}
