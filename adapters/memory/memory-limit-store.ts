/** Limits of calls in memory. What waits in a line are the waiting jobs of its key: there is no table of them. */
import { assert } from "#core/domain/assert.ts";
import {
  type CallLimit,
  effectiveLimit,
  isSet,
  type LimitKey,
  slotsWithin,
  tenantKeyOf,
  tenantOf,
} from "#core/domain/call-limit.ts";
import { OutcomeUnknown } from "#core/domain/errors.ts";
import type { TenantId, WorkerId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import {
  CallTimes,
  callsWithin,
  mayTake,
  nextCallMs,
  planCalls,
  planStarts,
  slotsWanted,
} from "#core/domain/limited-take.ts";
import {
  LIMIT_START_AHEAD_MS,
  RELEASE_GROUP_MAX,
  TAKE_LEASE_LEFT_MS,
} from "#core/domain/limits.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type {
  HeldLimit,
  KeptSlots,
  LimitChanges,
  LimitStore,
  LineRequest,
  QueueOfLine,
  TakeLimitedRequest,
  TakeLimitedResult,
  TakenLimited,
} from "#core/ports/limit-store.ts";
import { claimedJob } from "./memory-claimed-job.ts";
import { putLimit } from "./memory-put-limit.ts";
import { type MemoryTables, NO_RETENTION } from "./memory-tables.ts";

export class MemoryLimitStore implements LimitStore {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  listLines(aheadMs: number, max: number, after: LimitKey | null): Promise<QueueOfLine[]> {
    return this.#tables.transact("listLines", (nowMs) => {
      const lines = new Map<string, QueueOfLine>();
      for (const { limitKey: key, queue, dueAtMs } of this.#waiting()) {
        if (key === null || dueAtMs > nowMs + aheadMs) continue;
        const there = lines.get(`${key} ${queue}`);
        if (there === undefined || dueAtMs < there.headMs)
          lines.set(`${key} ${queue}`, { key, queue, headMs: dueAtMs });
      }
      const round = ({ key }: QueueOfLine) => (after === null || key > after ? 0 : 1);
      const inOrder = (a: QueueOfLine, b: QueueOfLine) =>
        round(a) - round(b) || (a.key === b.key ? a.queue - b.queue : a.key < b.key ? -1 : 1);
      return [...lines.values()].sort(inOrder).slice(0, max);
    });
  }

  async takeLimited(request: TakeLimitedRequest): Promise<TakeLimitedResult> {
    const { workerId } = request;
    let taken: TakenLimited | null = null;
    try {
      return await this.#tables.transact("takeLimited", (nowMs): TakeLimitedResult => {
        if (this.#tables.isFenced(workerId)) return { kind: "fenced" };
        const isLive = this.#tables.isLive(workerId, nowMs + TAKE_LEASE_LEFT_MS);
        const lines = isLive ? request.lines : [];
        taken = new Take(this.#tables, { ...request, lines }, nowMs).run(this.#waiting());
        return { kind: "claimed", ...taken };
      });
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      const none: TakenLimited = { claimedAtMs: this.#tables.nowMs(), lines: [], jobs: [] };
      return { kind: "unknown", claim: { workerId, ...(taken ?? none) } };
    }
  }

  keepSlots(workerId: WorkerId, kept: readonly KeptSlots[]): Promise<void> {
    return this.#tables.transact("keepSlots", () => {
      for (const { key, slots, takenAtMs } of kept) {
        const holders = this.#tables.limitSlots.get(key);
        const own = holders?.get(workerId);
        if (own === undefined || own.takenAtMs > takenAtMs) continue;
        if (slots === 0) holders?.delete(workerId);
        else holders?.set(workerId, { ...own, slots: Math.min(own.slots, slots) });
      }
    });
  }

  releaseLine(key: LimitKey, max: number): Promise<number> {
    return this.#tables.transact("releaseLine", (nowMs) => {
      assert(max > 0 && max <= RELEASE_GROUP_MAX, "a release is bounded");
      const { callLimits } = this.#tables;
      if (callLimits.has(key)) return 0;
      const tenant = tenantKeyOf(key);
      const limitKey = callLimits.has(tenant) ? tenant : null;
      const jobs = this.#waiting()
        .filter((job) => job.limitKey === key)
        .slice(0, max);
      const context = { nowMs, retention: NO_RETENTION };
      for (const { id } of jobs)
        this.#tables.applyToJob(id, { kind: "release-limit", limitKey }, context);
      return jobs.length;
    });
  }

  find(key: LimitKey): Promise<CallLimit | null> {
    return this.#tables.transact("find", () => {
      const row = this.#tables.callLimits.get(key);
      return row === undefined ? null : row.limit;
    });
  }

  list(tenantId: TenantId, after: LimitKey | null, max: number): Promise<CallLimit[]> {
    return this.#tables.transact("list", () =>
      [...this.#tables.callLimits.values()]
        .map(({ limit }) => limit)
        .filter(({ key }) => tenantOf(key) === tenantId && (after === null || key > after))
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .slice(0, max),
    );
  }

  countSet(tenantId: TenantId, max: number): Promise<number> {
    return this.#tables.transact("countSet", () => {
      const limits = [...this.#tables.callLimits.values()].map(({ limit }) => limit);
      const set = limits.filter((limit) => tenantOf(limit.key) === tenantId && isSet(limit));
      return Math.min(max, set.length);
    });
  }

  put(key: LimitKey, changes: LimitChanges): Promise<CallLimit | null> {
    return this.#tables.transact("put", (nowMs) => putLimit(this.#tables, key, changes, nowMs));
  }

  countWaiting(keys: readonly LimitKey[], max: number): Promise<Map<LimitKey, number>> {
    return this.#tables.transact("countWaiting", (nowMs) => {
      const due = this.#waiting().filter(({ dueAtMs }) => dueAtMs <= nowMs);
      const count = (key: LimitKey) => due.filter(({ limitKey }) => limitKey === key).length;
      return new Map(keys.map((key) => [key, Math.min(max, count(key))]));
    });
  }

  /** In the order of the index. */
  #waiting(): Job[] {
    return [...this.#tables.jobs.values()]
      .filter(({ status }) => status === "waiting")
      .sort((a, b) => a.queue - b.queue || a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1));
  }
}

/** As an answer has them: absent where there are none. */
function startsOf(key: LimitKey, starts: ReadonlyMap<LimitKey, readonly number[]>) {
  const startsAtMs = starts.get(key);
  return startsAtMs === undefined ? {} : { startsAtMs };
}

/** One take. */
class Take {
  readonly #tables: MemoryTables;
  readonly #request: TakeLimitedRequest;
  readonly #nowMs: number;
  readonly #held = new Map<LimitKey, HeldLimit>();
  readonly #times = new Map<LimitKey, CallTimes>();

  constructor(tables: MemoryTables, request: TakeLimitedRequest, nowMs: number) {
    this.#tables = tables;
    this.#request = request;
    this.#nowMs = nowMs;
  }

  run(waiting: readonly Job[]): TakenLimited {
    const { lines } = this.#request;
    for (const [key, slotsMax] of slotsWanted(lines)) this.#hold(key, slotsMax);
    const until = this.#until;
    const startable = lines.filter(({ key }) => mayTake(key, (each) => this.#heldOf(each)));
    const starts = planStarts(startable, this.#times, until);
    const found = lines.flatMap((line) => this.#find(line, waiting));
    const jobs = planCalls(found, lines, this.#times, until).map(({ item, startAtMs }) => ({
      ...this.#take(item.job),
      limitKey: item.key,
      startAtMs,
    }));
    for (const [key, times] of this.#times) {
      const row = this.#tables.callLimits.get(key);
      if (row !== undefined)
        this.#tables.callLimits.set(key, { ...row, nextCallAtMs: times.nextMs });
    }
    return {
      claimedAtMs: this.#nowMs,
      lines: lines.map(({ key }) => ({
        key,
        ...this.#heldOf(key),
        tenant: this.#heldOf(tenantKeyOf(key)),
        ...startsOf(key, starts),
      })),
      jobs,
    };
  }

  get #until() {
    const nowMs = this.#nowMs;
    return { nowMs, untilMs: nowMs + this.#request.aheadMs + LIMIT_START_AHEAD_MS };
  }

  #hold(key: LimitKey, slotsMax: number): void {
    const row = this.#tables.callLimits.get(key);
    if (row === undefined) {
      this.#held.set(key, { limit: null, slots: 0 });
      return;
    }
    const limit = effectiveLimit(row.limit);
    const { workerId } = this.#request;
    const holders = this.#tables.limitSlots.get(key) ?? new Map();
    for (const id of holders.keys()) if (!this.#tables.isLive(id, this.#nowMs)) holders.delete(id);
    let others = 0;
    for (const [id, own] of holders) if (id !== workerId) others += own.slots;
    const slots = slotsWithin(limit, others, slotsMax);
    if (limit.concurrency === null || slots === 0) holders.delete(workerId);
    else holders.set(workerId, { slots, takenAtMs: this.#nowMs });
    this.#tables.limitSlots.set(key, holders);
    this.#held.set(key, { limit, slots });
    const { perSecond } = limit;
    if (perSecond === null) return;
    const nextMs = nextCallMs(row.nextCallAtMs, perSecond, this.#until);
    this.#times.set(key, new CallTimes(perSecond, nextMs));
  }

  #heldOf(key: LimitKey): HeldLimit {
    return this.#held.get(key) ?? { limit: null, slots: 0 };
  }

  #find(line: LineRequest, waiting: readonly Job[]) {
    if (!mayTake(line.key, (key) => this.#heldOf(key))) return [];
    const untilMs = this.#nowMs + this.#request.aheadMs;
    const startsMs = untilMs + LIMIT_START_AHEAD_MS;
    const limit = Math.min(line.jobsMax, callsWithin(line.key, this.#times, startsMs));
    return line.queues.flatMap((queue) =>
      waiting
        .filter((job) => job.limitKey === line.key && job.queue === queue)
        .filter(({ dueAtMs }) => dueAtMs <= untilMs)
        .slice(0, limit)
        .map((job) => ({ key: line.key, queue, dueAtMs: job.dueAtMs, job })),
    );
  }

  #take(job: Job): ClaimedJob {
    const event = { kind: "take-with-slots", workerId: this.#request.workerId } as const;
    const after = applyEvent(job, event, { nowMs: this.#nowMs, retention: NO_RETENTION });
    assert(after.kind === "moved", "a waiting job can be taken");
    this.#tables.jobs.set(job.id, after.job);
    return claimedJob(after.job);
  }
}
