/**
 * A job as the JSON document of its row. Keys are short because a row of up to 1 KB costs one write unit; what the row's own columns
 * say (tenant, id, status, trigger) is not repeated, and what is absent, zero or as usual is left out.
 */
import type { CallError } from "#core/domain/call-error.ts";
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { DroppedBody, HistoryEntry, HistoryRequest } from "#core/domain/history.ts";
import { type JobId, partsOfJobId, type TenantId, type WorkerId } from "#core/domain/ids.ts";
import type {
  AttemptRecord,
  AttemptTimings,
  Covers,
  Job,
  JobStatus,
  Payload,
  Trigger,
} from "#core/domain/job.ts";
import { priorityOfRank, priorityRank } from "#core/domain/queue.ts";

/** claim number, attempt, startedAtMs, lagMs, durationMs, statusCode, error, responseBody, ms from the claim to the start, timings */
type AttemptTuple = [
  number,
  number,
  number,
  number,
  number,
  number | null,
  CallError | null,
  string | null,
  (number | null)?,
  AttemptTimings?,
];

interface RequestDocument {
  readonly m: string;
  readonly u: string;
  readonly h?: Readonly<Record<string, string>>;
  readonly b?: string;
  readonly b64?: string;
  /** Size of the body, absent when there is none. */
  readonly n?: number;
  readonly sha?: string;
}

interface JobDocument {
  readonly v: number;
  readonly p: number;
  readonly q: number;
  /** Absent when it is the scheduled time. */
  readonly run?: number;
  readonly due: number;
  readonly c: number;
  readonly n: number;
  readonly l?: number;
  readonly max: number;
  readonly t: number;
  readonly w?: string;
  readonly end?: number;
  readonly why?: string;
  readonly stop?: string;
  readonly of?: string;
  readonly lim?: string;
  /** count, fromMs, toMs, 1 when it is at least so many. */
  readonly cov?: [number, number, number, (0 | 1)?];
  readonly a?: AttemptTuple[];
  readonly pay?: Payload;
  readonly drop?: [number, string];
  readonly r?: RequestDocument;
}

/** The parts of a row that its columns hold. */
export interface RowKey {
  readonly tenantId: TenantId;
  readonly id: JobId;
  readonly status: JobStatus;
  readonly trigger: Trigger;
}

export function encodeDocument({ job, request, payloadBody }: HistoryEntry): string {
  const attempts = Object.entries(job.attempts);
  // JSON.stringify leaves out what is undefined.
  const document: Record<keyof JobDocument, unknown> = {
    v: job.taskVersion,
    p: priorityRank(job.priority),
    q: job.queue,
    run: job.runAtMs === job.scheduledAtMs ? undefined : job.runAtMs,
    due: job.dueAtMs,
    c: job.claimNo,
    n: job.attempt,
    l: job.lost || undefined,
    max: job.maxAttempts,
    t: job.timeoutMs,
    w: job.workerId ?? undefined,
    end: job.finishedAtMs ?? undefined,
    why: job.reason ?? undefined,
    stop: job.cancelReason ?? undefined,
    of: job.retryOf ?? undefined,
    lim: job.limitKey ?? undefined,
    cov: job.covers === null ? undefined : encodeCovers(job.covers),
    a: attempts.length === 0 ? undefined : attempts.map(encodeAttempt),
    pay: job.payload ?? undefined,
    drop: payloadBody === null ? undefined : [payloadBody.bytes, payloadBody.sha256],
    r: request === null ? undefined : encodeRequest(request),
  };
  return JSON.stringify(document);
}

export function decodeDocument(key: RowKey, text: string): HistoryEntry {
  const document = JSON.parse(text) as JobDocument;
  const { scheduledAtMs, taskId } = partsOfJobId(key.id);
  const job: Job = {
    id: key.id,
    taskId,
    tenantId: key.tenantId,
    taskVersion: document.v,
    trigger: key.trigger,
    status: key.status,
    priority: priorityOfRank(document.p),
    queue: document.q,
    scheduledAtMs,
    runAtMs: document.run ?? scheduledAtMs,
    dueAtMs: document.due,
    claimNo: document.c,
    attempt: document.n,
    lost: document.l ?? 0,
    maxAttempts: document.max,
    timeoutMs: document.t,
    workerId: (document.w as WorkerId | undefined) ?? null,
    cancelReason: document.stop ?? null,
    attempts: Object.fromEntries((document.a ?? []).map(decodeAttempt)),
    payload: document.pay ?? null,
    finishedAtMs: document.end ?? null,
    reason: document.why ?? null,
    retryOf: (document.of as JobId | undefined) ?? null,
    covers: document.cov === undefined ? null : decodeCovers(document.cov),
    limitKey: (document.lim as LimitKey | undefined) ?? null,
  };
  return {
    job,
    request: document.r === undefined ? null : decodeRequest(document.r),
    payloadBody: document.drop === undefined ? null : decodeDropped(document.drop),
  };
}

function encodeAttempt([claimNo, record]: [string, AttemptRecord]): AttemptTuple {
  const { attempt, startedAtMs, lagMs, durationMs, statusCode, error, responseBody } = record;
  const { claimedAtMs, timings } = record;
  const common = [
    attempt,
    startedAtMs,
    lagMs,
    durationMs,
    statusCode,
    error,
    responseBody,
  ] as const;
  const heldMs = claimedAtMs === undefined ? null : startedAtMs - claimedAtMs;
  if (timings !== undefined) return [Number(claimNo), ...common, heldMs, timings];
  return heldMs === null ? [Number(claimNo), ...common] : [Number(claimNo), ...common, heldMs];
}

function decodeAttempt(tuple: AttemptTuple): [string, AttemptRecord] {
  const [claimNo, attempt, startedAtMs, lagMs, durationMs, statusCode, error, responseBody] = tuple;
  const [heldMs = null, timings] = tuple.slice(8) as [(number | null)?, AttemptTimings?];
  const record = {
    ...{ attempt, startedAtMs, lagMs, durationMs, statusCode, error, responseBody },
    ...(heldMs === null ? {} : { claimedAtMs: startedAtMs - heldMs }),
    ...(timings === undefined ? {} : { timings }),
  };
  return [String(claimNo), record];
}

function encodeCovers({ count, fromMs, toMs, atLeast }: Covers): NonNullable<JobDocument["cov"]> {
  if (atLeast === undefined) return [count, fromMs, toMs];
  return [count, fromMs, toMs, atLeast ? 1 : 0];
}

function decodeCovers([count, fromMs, toMs, atLeast]: NonNullable<JobDocument["cov"]>): Covers {
  const covers = { count, fromMs, toMs };
  return atLeast === undefined ? covers : { ...covers, atLeast: atLeast === 1 };
}

function decodeDropped([bytes, sha256]: [number, string]): DroppedBody {
  return { bytes, sha256 };
}

function encodeRequest(request: HistoryRequest): RequestDocument {
  const { method, url, headers, body, bodyBase64, bodyBytes, bodySha256 } = request;
  return {
    m: method,
    u: url,
    ...(Object.keys(headers).length === 0 ? {} : { h: headers }),
    ...(body === null ? {} : { b: body }),
    ...(bodyBase64 === null ? {} : { b64: bodyBase64 }),
    ...(bodyBytes === 0 ? {} : { n: bodyBytes }),
    ...(bodySha256 === null ? {} : { sha: bodySha256 }),
  };
}

function decodeRequest(document: RequestDocument): HistoryRequest {
  return {
    method: document.m,
    url: document.u,
    headers: document.h ?? {},
    body: document.b ?? null,
    bodyBase64: document.b64 ?? null,
    bodyBytes: document.n ?? 0,
    bodySha256: document.sha ?? null,
  };
}
