/**
 * Fires ready jobs into free slots, in the order of hold/ready-jobs.ts, and turns each call's end into a result.
 *
 * Two checks stand between a ready job and its call: the worker's lease (and with it the last poll, which brings revocations),
 * and the job's own backstop, before which the call must be able to end. Both are made when it gets a slot, and again when what
 * it needs has been got: that may take long enough for a pause to be answered. So is the rate of a limited one.
 */
import { unreachable } from "#core/domain/assert.ts";
import { cutToBytes } from "#core/domain/history.ts";
import type { AttemptRecord, AttemptTimings } from "#core/domain/job.ts";
import {
  BACKSTOP_GUARD_MS,
  FAILURE_BODY_BYTES_KEPT,
  SECRETS_AGAIN_MS,
  SUCCESS_BODY_BYTES_KEPT,
} from "#core/domain/limits.ts";
import { oneLaneDown, priorityOfQueue } from "#core/domain/queue.ts";
import { isSuccess, judge, retryDelayMs } from "#core/domain/retry-policy.ts";
import type { CallOutcome, CallTimings } from "#core/ports/caller.ts";
import type { JobResult } from "#core/ports/job-store.ts";
import type { Metrics } from "#core/ports/metrics.ts";
import type { Random } from "#core/ports/random.ts";
import { resultClass } from "./call/result-class.ts";
import type { CallSender } from "./call/send-call.ts";
import type { DatabaseClock } from "./database-clock.ts";
import { dueMsOf, type HeldJob, heldKey, isFirstOfSchedule } from "./hold/held-job.ts";
import type { HeldJobs } from "./hold/held-jobs.ts";
import type { Lease } from "./lease.ts";
import type { Outbox } from "./outbox.ts";

interface FiringDeps {
  readonly held: HeldJobs;
  readonly lease: Lease;
  readonly outbox: Outbox;
  readonly database: DatabaseClock;
  readonly sender: CallSender;
  readonly random: Random;
  readonly metrics: Metrics;
}

export class Firing {
  readonly #deps: FiringDeps;
  readonly #abort = new AbortController();
  /** Of calls with a slot of a limit: it is theirs only under a live lease. No `AbortSignal.any` of both for each call: it outlives it. */
  #abortLimited = new AbortController();
  #stopped = false;
  #ended = 0;
  #busyMs = 0;

  /** Called when a call has ended and its slot is free. */
  onEnded: (held: HeldJob) => void = () => {};

  constructor(deps: FiringDeps) {
    this.#deps = deps;
  }

  /** Calls that have ended since the start: what the executor's rate is measured from. */
  get ended(): number {
    return this.#ended;
  }

  /** How long those have taken, all together. */
  get busyMs(): number {
    return this.#busyMs;
  }

  /** From here on no call starts: what is ready stays so until it is given back. */
  stop(): void {
    this.#stopped = true;
  }

  /** Starts as many ready jobs as there are free slots. Call it when jobs become ready, a slot free or the lease good again. */
  pump(): void {
    const { held, lease } = this.#deps;
    while (!this.#stopped && lease.mayStart()) {
      const next = held.takeReady();
      if (next === null) return;
      if (next.workerId !== lease.workerId) {
        // Claimed under an id that was fenced while the claim was being taken in: others have it.
        held.remove(next);
      } else if (this.#isTooNearBackstop(next)) {
        held.remove(next);
        this.#deps.outbox.addGivenBack([heldKey(next)]);
      } else if (!held.isInTime(next)) held.lineUpAgain(next);
      else void this.#send(next);
    }
  }

  /** Gives jobs back that would wait here for long: each is tried again once to twice its `delayMs` from now. */
  putOff(jobs: readonly HeldJob[], delayMs: (held: HeldJob) => number): void {
    const { database, outbox, random } = this.#deps;
    const nowMs = database.nowMs();
    const notBeforeMs = (held: HeldJob) => Math.ceil(nowMs + delayMs(held) * (1 + random.unit()));
    outbox.addGivenBack(jobs.map((held) => ({ ...heldKey(held), notBeforeMs: notBeforeMs(held) })));
  }

  /** Ends the calls under way as `interrupted`. */
  interrupt(): void {
    this.#abort.abort();
    this.#abortLimited.abort();
  }

  /** Ends the calls under way that have a slot of a limit as `interrupted`. */
  interruptLimited(): void {
    this.#abortLimited.abort();
    if (!this.#abort.signal.aborted) this.#abortLimited = new AbortController();
  }

  #signalOf(held: HeldJob): AbortSignal {
    return (this.#deps.held.hasLimitSlot(held) ? this.#abortLimited : this.#abort).signal;
  }

  #isTooNearBackstop({ job }: HeldJob): boolean {
    return this.#deps.database.nowMs() + job.timeoutMs + BACKSTOP_GUARD_MS > job.dueAtMs;
  }

  async #send(held: HeldJob): Promise<void> {
    const { sender, outbox } = this.#deps;
    const { job } = held;
    let startedAtMs = 0;
    let isLate = false;
    const begin = () => {
      if (!this.#mayBegin(held)) return false;
      isLate = !this.#deps.held.startSending(held);
      if (!isLate) startedAtMs = this.#begin(held);
      return !isLate;
    };
    const outcome = await sender.send(job, held.version, this.#signalOf(held), begin);
    if (isLate && held.phase !== "gone") this.#deps.held.lineUpAgain(held);
    else if (outcome.kind === "unsent") this.#takeBack(held, outcome.locked === true);
    else {
      this.#ended++;
      this.#busyMs += outcome.durationMs;
      this.#deps.held.remove(held);
      if (outcome.kind === "answered") this.#deps.held.noteIdle(held);
      outbox.addResult(this.#resultOf(held, outcome, startedAtMs));
    }
    this.pump();
    this.onEnded(held);
  }

  /** Whether a job that has been prepared is still to be called: taken back by a revocation, a fence or a drain it is not. */
  #mayBegin(held: HeldJob): boolean {
    const { lease } = this.#deps;
    return (
      held.phase === "preparing" &&
      held.workerId === lease.workerId &&
      lease.mayStart() &&
      !this.#isTooNearBackstop(held)
    );
  }

  /** Returns when its call starts, on the database's clock. */
  #begin(held: HeldJob): number {
    const { database, metrics } = this.#deps;
    const { job } = held;
    const startedAtMs = Math.floor(database.nowMs());
    // What waited for its own limit is not late by our doing.
    if (isFirstOfSchedule(job) && job.limitKey === null)
      metrics.observeLagMs(priorityOfQueue(job.queue), startedAtMs - dueMsOf(job));
    metrics.count("sent", 1);
    return startedAtMs;
  }

  /** `locked`: its secrets do not open now, and the next ones to try would meet the same. */
  #takeBack(held: HeldJob, locked: boolean): void {
    if (held.phase === "gone") return;
    const { metrics, outbox } = this.#deps;
    this.#deps.held.remove(held);
    if (!locked) {
      outbox.addGivenBack([heldKey(held)]);
      return;
    }
    metrics.count("results_secrets", 1);
    this.putOff([held], () => SECRETS_AGAIN_MS);
  }

  #resultOf(held: HeldJob, outcome: CallOutcome, startedAtMs: number): JobResult {
    const { job, version } = held;
    const { metrics, random, database } = this.#deps;
    metrics.count(resultClass(outcome), 1);
    const verdict = judge(outcome, version.retry);
    const base = {
      ...heldKey(held),
      record: recordOf(held, outcome, startedAtMs),
    };
    if (outcome.kind === "failed" && outcome.error === "interrupted") {
      return { ...base, kind: "interrupt" };
    }
    switch (verdict.kind) {
      case "success":
        return { ...base, kind: "succeed" };
      case "failure":
      case "final": {
        const failures = Math.max(1, job.attempt - job.lost);
        const retryAfterMs = verdict.kind === "failure" ? verdict.retryAfterMs : null;
        const delayMs = retryDelayMs(version.retry, failures, random.unit(), retryAfterMs);
        const finalReason = verdict.kind === "final" ? verdict.reason : null;
        // The row's own `lost` can only have grown since the claim, which leaves more attempts, never fewer.
        const maybeDead = finalReason !== null || job.attempt - job.lost >= job.maxAttempts;
        if (maybeDead) metrics.count("dead", 1);
        return {
          ...base,
          kind: "fail",
          retryAtMs: Math.ceil(database.nowMs()) + delayMs,
          retryQueue: oneLaneDown(job.queue, job.tenantId),
          finalReason,
          maybeDead,
        };
      }
      default:
        return unreachable(verdict);
    }
  }
}

function recordOf(
  { job, version, claimedAtMs }: HeldJob,
  outcome: CallOutcome,
  startedAtMs: number,
): AttemptRecord {
  const { attempt, trigger } = job;
  const { durationMs, timings } = outcome;
  const lagMs = startedAtMs - dueMsOf(job);
  const common = {
    ...{ attempt, claimedAtMs, startedAtMs, lagMs, durationMs },
    ...(timings === undefined ? {} : { timings: keptTimings(timings) }),
  };
  if (outcome.kind === "failed")
    return { ...common, statusCode: null, error: outcome.error, responseBody: null };
  const { statusCode } = outcome;
  if (version.request.captureResponse === false)
    return { ...common, statusCode, error: null, responseBody: null };
  // Of a test somebody wants to see what there is; history keeps what it keeps of any job.
  const brief = isSuccess(statusCode) && trigger !== "test";
  const keep = brief ? SUCCESS_BODY_BYTES_KEPT : FAILURE_BODY_BYTES_KEPT;
  const responseBody = cutToBytes(outcome.responseBody, keep);
  return { ...common, statusCode, error: null, responseBody };
}

function keptTimings(timings: CallTimings): AttemptTimings {
  const { dnsMs, connectMs, tlsMs, firstByteMs, totalMs } = timings;
  const tenths = (ms: number) => Math.round(ms * 10) / 10;
  const orNull = (ms: number | null) => (ms === null ? null : tenths(ms));
  return [orNull(dnsMs), orNull(connectMs), orNull(tlsMs), orNull(firstByteMs), tenths(totalMs)];
}
