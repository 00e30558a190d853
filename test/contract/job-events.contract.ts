/**
 * The adapter against the state machine itself: random sequences of events go through the store's verbs, and after each one
 * every row must be what `applyEvent` makes of it. Events work on groups, so that a sequence costs few round trips.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { JobId, WorkerId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { REASON_CANCELLED, REASON_DELETED, REASON_PAUSED } from "#core/domain/job.ts";
import type { JobEvent } from "#core/domain/job-state.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import type { Task } from "#core/domain/task.ts";
import type { HeldKey, JobResult, RetryOutcome, RunningKey } from "#core/ports/job-store.ts";
import type { JobsEffect } from "#core/ports/task-store.ts";
import { assertStep } from "./assert-step.ts";
import {
  addJobs,
  addTask,
  addWorker,
  dbNow,
  failure,
  HOUR_MS,
  heldKey,
  idsOf,
  interruption,
  plannedJob,
  RETENTION,
  success,
  writeEdit,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const JOBS = 12;
const SEQUENCES = 40;
const STEPS = 25;
/** Enough for both workers. */
const LIMIT = { concurrency: 2 };

/** What the reporter of a result or a give-back believes about who holds the job. */
type Belief = "true" | "stale claim" | "other worker";
type Told = "succeed" | "retry later" | "retry now" | "final" | "interrupt" | "give back";

type Step =
  | { readonly kind: "claim"; readonly worker: 0 | 1; readonly aheadMs: number }
  | { readonly kind: "report"; readonly told: readonly (readonly [number, Told, Belief])[] }
  | { readonly kind: "effect"; readonly effect: JobsEffect }
  | { readonly kind: "rescue"; readonly at: readonly number[] }
  | { readonly kind: "retry"; readonly at: readonly number[] }
  | { readonly kind: "cancel"; readonly at: number }
  | { readonly kind: "release" };

const index = fc.nat({ max: JOBS - 1 });
const told = fc.constantFrom<Told>(
  "succeed",
  "retry later",
  "retry now",
  "retry now",
  "final",
  "interrupt",
  "give back",
);
const belief = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Belief>("true") },
  { weight: 1, arbitrary: fc.constantFrom<Belief>("stale claim", "other worker") },
);
const cancel = (reason: string): JobsEffect => ({ kind: "cancel", reason });
const effect = fc.constantFrom<JobsEffect>(
  cancel(REASON_PAUSED),
  cancel(REASON_PAUSED),
  cancel(REASON_CANCELLED),
  cancel(REASON_DELETED),
  { kind: "resume" },
  { kind: "resume" },
  { kind: "remove-planned" },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      worker: fc.constantFrom(0 as const, 1 as const),
      aheadMs: fc.constantFrom(0, 3 * HOUR_MS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("report" as const),
      told: fc.uniqueArray(fc.tuple(index, told, belief), {
        selector: ([at]) => at,
        minLength: 1,
        maxLength: JOBS,
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("effect" as const), effect }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("rescue" as const, "retry" as const),
      at: fc.uniqueArray(index, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), at: index }) },
);

const release = fc.constant<Step>({ kind: "release" });

export function jobEventsContract(open: OpenStore): void {
  for (const limited of [false, true]) {
    const of = limited ? ", of a task with a limit" : "";
    test(`random sequences of events leave the rows that the state machine makes${of}`, async () => {
      const steps = limited ? fc.oneof({ weight: 8, arbitrary: step }, release) : step;
      const sequence = fc.array(steps, { minLength: 5, maxLength: STEPS });
      const property = fc.asyncProperty(sequence, (all) =>
        onStore(open, async (store) => {
          const model = await Model.begin(store, limited);
          for (const one of all) await model.take(one);
        })(),
      );
      await fc.assert(property, { numRuns: SEQUENCES });
    });
  }
}

/** The rows of one task as the state machine says they are, beside those of the store. */
class Model {
  readonly #store: ContractStore;
  readonly #task: Task;
  readonly #workers: readonly WorkerId[];
  readonly #ids: readonly JobId[];
  #jobs: Map<JobId, Job>;
  /** The line that the task's jobs stand in; null: it has no limit. */
  readonly #line: LimitKey | null;
  #isLimited: boolean;
  /** In which each was when it was last claimed. */
  readonly #claimedFrom = new Map<JobId, LimitKey | null>();

  constructor(
    store: ContractStore,
    task: Task,
    workers: readonly WorkerId[],
    jobs: readonly Job[],
    line: LimitKey | null,
  ) {
    this.#line = line;
    this.#isLimited = line !== null;
    this.#store = store;
    this.#task = task;
    this.#workers = workers;
    this.#ids = jobs.map((job) => job.id);
    this.#jobs = new Map(jobs.map((job) => [job.id, job]));
  }

  /** Jobs that are due, soon, and in an hour, in a queue of every lane that retries pass through. */
  static async begin(store: ContractStore, limited: boolean): Promise<Model> {
    const { task, version } = await addTask(store, { task: { maxAttempts: 2 } });
    const line = limited ? endpointKey(task.tenantId, version.request.url) : null;
    if (line !== null) await store.shard.limits.put(line, LIMIT);
    const nowMs = await dbNow(store);
    const jobs = Array.from({ length: JOBS }, (_, i) =>
      plannedJob(
        { ...task, ...(line === null ? {} : { limitKey: line }) },
        nowMs,
        i % 3 === 0 ? HOUR_MS + i : -60_000 - i,
      ),
    );
    await addJobs(store, task, jobs);
    const workers = [await addWorker(store), await addWorker(store)];
    return new Model(store, task, workers, jobs, line);
  }

  async take(one: Step): Promise<void> {
    const beforeMs = await dbNow(this.#store);
    const before = new Map(this.#jobs);
    const events = await this.#do(one, beforeMs);
    const all = { statuses: null, fromMs: null, toMs: null };
    const { tenantId, id } = this.#task;
    const rows = await this.#store.shard.jobs.listByTask(tenantId, id, all, null, 2 * JOBS);
    const afterMs = await dbNow(this.#store);
    this.#jobs = new Map(rows.map((row) => [row.id, row]));
    for (const [jobId, job] of before) {
      const event = events.get(jobId);
      const row = this.#jobs.get(jobId);
      if (event === undefined) assert.deepEqual(row, job);
      else assertStep(job, event, row, beforeMs, afterMs);
    }
    assert.equal([...this.#jobs.keys()].filter((jobId) => !before.has(jobId)).length, 0);
    const waiting = rows.filter(({ status }) => status === "waiting");
    assert.deepEqual(
      await this.#store.listLimited(),
      waiting
        .map(({ id: jobId, limitKey, queue, dueAtMs }) => ({ id: jobId, limitKey, queue, dueAtMs }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  /** Carries a step out on the store and answers the event that it is for each job. */
  async #do(one: Step, nowMs: number): Promise<Map<JobId, JobEvent>> {
    switch (one.kind) {
      case "claim":
        return this.#claim(this.#workers[one.worker] as WorkerId, one.aheadMs, nowMs);
      case "report":
        return this.#report(one.told, nowMs);
      case "effect": {
        const { timeoutMs, maxAttempts: moreAttempts } = this.#task;
        const limitKey = this.#isLimited ? this.#line : null;
        await writeEdit(this.#store, this.#task, {}, one.effect);
        const event: JobEvent =
          one.effect.kind === "cancel"
            ? one.effect
            : one.effect.kind === "resume"
              ? { kind: "resume", taskVersion: 1, timeoutMs, moreAttempts, limitKey }
              : { kind: "remove-planned" };
        return new Map([...this.#jobs.keys()].map((jobId) => [jobId, event]));
      }
      case "rescue":
        return this.#rescue(one.at, nowMs);
      case "retry":
        return this.#retry(one.at, nowMs);
      case "cancel":
        return this.#cancel(one.at, nowMs);
      case "release":
        return this.#release();
    }
  }

  /** The limit goes, and what waits is released; or it comes, and what is in line waits. */
  async #release(): Promise<Map<JobId, JobEvent>> {
    const key = this.#line;
    assert(key !== null);
    const { limits } = this.#store.shard;
    const jobs = [...this.#jobs.values()];
    const waiting = jobs.filter(({ status }) => status === "waiting");
    this.#isLimited = !this.#isLimited;
    if (this.#isLimited) {
      await limits.put(key, LIMIT);
      const pending = jobs.filter(({ status }) => status === "pending");
      return new Map(pending.map(({ id }) => [id, { kind: "line-up", limitKey: key }]));
    }
    assert.equal(await limits.releaseLine(key, JOBS), 0);
    assert.equal(await limits.put(key, { concurrency: null }), null);
    assert.equal(await limits.releaseLine(key, JOBS), waiting.length);
    return new Map(waiting.map(({ id }) => [id, { kind: "release-limit", limitKey: null }]));
  }

  async #claim(workerId: WorkerId, aheadMs: number, nowMs: number): Promise<Map<JobId, JobEvent>> {
    const queues = [...new Set([...this.#jobs.values()].map((job) => job.queue))];
    const claim = await this.#store.shard.jobs.claimDue({
      workerId,
      branches: queues.map((queue) => ({ queue, limit: JOBS, head: null })),
      aheadMs,
      limit: JOBS,
    });
    assert(claim.kind === "claimed");
    const mine = claim.jobs.filter((held) => this.#jobs.has(held.id));
    const due = [...this.#jobs.values()].filter(
      (job) => job.status === "pending" && job.dueAtMs <= nowMs + aheadMs,
    );
    assert.deepEqual(mine.map((held) => held.id).sort(), due.map((job) => job.id).sort());
    const events = new Map<JobId, JobEvent>(
      mine.map((held) => [held.id, { kind: "claim", workerId }]),
    );
    const line = this.#line === null ? [] : await this.#takeLine(this.#line, workerId, aheadMs);
    const inLine = [...this.#jobs.values()].filter(
      (job) => this.#isLimited && job.status === "waiting" && job.dueAtMs <= nowMs + aheadMs,
    );
    assert.deepEqual(idsOf(line), idsOf(inLine));
    for (const { id } of line) events.set(id, { kind: "take-with-slots", workerId });
    for (const held of [...mine, ...line]) this.#claimedFrom.set(held.id, held.limitKey);
    return events;
  }

  async #takeLine(key: LimitKey, workerId: WorkerId, aheadMs: number) {
    const queues = [...new Set([...this.#jobs.values()].map((job) => job.queue))];
    const line = { key, queues, slotsMax: 1, tenantSlotsMax: 1, jobsMax: JOBS };
    const taken = await this.#store.shard.limits.takeLimited({ workerId, aheadMs, lines: [line] });
    assert(taken.kind === "claimed");
    return taken.jobs;
  }

  async #report(
    reports: readonly (readonly [number, Told, Belief])[],
    nowMs: number,
  ): Promise<Map<JobId, JobEvent>> {
    const events = new Map<JobId, JobEvent>();
    const results: JobResult[] = [];
    const back: HeldKey[] = [];
    let moves = 0;
    for (const [at, what, believed] of reports) {
      const job = this.#jobs.get(this.#ids[at] as JobId);
      if (job === undefined) continue;
      const workerId =
        job.workerId === null || believed === "other worker"
          ? (this.#workers.find((other) => other !== job.workerId) as WorkerId)
          : job.workerId;
      const claimNo = believed === "stale claim" ? Math.max(0, job.claimNo - 1) : job.claimNo;
      const held = { ...job, claimNo, limitKey: this.#claimedFrom.get(job.id) ?? null };
      const event = eventOf(held, what, workerId, nowMs);
      if (what === "give back") back.push(heldKey(held, workerId));
      else results.push(resultOf(held, what, workerId, nowMs));
      events.set(job.id, event);
      const context = { nowMs, retention: RETENTION };
      if (applyEvent(job, event, context).kind !== "refused") moves++;
    }
    const jobs = this.#store.shard.jobs;
    const recorded = await jobs.recordResults(results, RETENTION);
    const given = await jobs.giveBack(back, RETENTION);
    assert.equal(recorded.written + given.written, moves);
    assert.equal(recorded.lostRaces + given.lostRaces, events.size - moves);
    return events;
  }

  /** The claim number is the row's own, or that of an earlier claim. */
  async #rescue(at: readonly number[], nowMs: number): Promise<Map<JobId, JobEvent>> {
    const context = { nowMs, retention: RETENTION };
    const events = new Map<JobId, JobEvent>();
    const keys: RunningKey[] = [];
    const expected = { pending: 0, dead: 0, cancelled: 0 };
    for (const i of at) {
      const job = this.#jobs.get(this.#ids[i] as JobId);
      if (job === undefined) continue;
      const claimNo = i % 5 === 4 ? Math.max(0, job.claimNo - 1) : job.claimNo;
      const event: JobEvent = { kind: "rescue", claimNo };
      const after = applyEvent(job, event, context);
      if (after.kind === "moved") {
        const { status } = after.job;
        expected[status === "waiting" ? "pending" : (status as keyof typeof expected)]++;
      }
      keys.push({ id: job.id, claimNo, limitKey: this.#claimedFrom.get(job.id) ?? null });
      events.set(job.id, event);
    }
    assert.deepEqual(await this.#store.shard.jobs.rescue(keys, RETENTION), expected);
    return events;
  }

  async #retry(at: readonly number[], nowMs: number): Promise<Map<JobId, JobEvent>> {
    const context = { nowMs, retention: RETENTION };
    const events = new Map<JobId, JobEvent>();
    const expected = new Map<JobId, RetryOutcome>();
    for (const i of at) {
      const id = this.#ids[i] as JobId;
      const job = this.#jobs.get(id);
      const limitKey = this.#isLimited ? this.#line : null;
      const event: JobEvent = { kind: "retry", moreAttempts: 2, delayMs: 100 * i, limitKey };
      if (job === undefined) expected.set(id, "not-found");
      else {
        const { kind } = applyEvent(job, event, context);
        expected.set(id, kind === "moved" ? "moved" : "not-dead");
        events.set(id, event);
      }
    }
    const group = at.map((i) => ({ id: this.#ids[i] as JobId, delayMs: 100 * i }));
    const outcomes = await this.#store.shard.jobs.retryDead(this.#task.tenantId, group);
    assert.deepEqual(outcomes, expected);
    return events;
  }

  async #cancel(at: number, nowMs: number): Promise<Map<JobId, JobEvent>> {
    const id = this.#ids[at] as JobId;
    const job = this.#jobs.get(id);
    const event: JobEvent = { kind: "cancel", reason: REASON_CANCELLED };
    const outcome = await this.#store.shard.jobs.cancel(this.#task.tenantId, id, RETENTION);
    if (job === undefined) {
      assert.equal(outcome.kind, "not-found");
      return new Map();
    }
    const after = applyEvent(job, event, { nowMs, retention: RETENTION });
    const marked = after.kind === "moved" && after.job.status === "running";
    const done = marked ? "marked" : "cancelled";
    assert.equal(outcome.kind, after.kind === "moved" ? done : "finished");
    return new Map([[id, event]]);
  }
}

type Believed = Parameters<typeof success>[0];

function resultOf(held: Believed, what: Told, workerId: WorkerId, nowMs: number): JobResult {
  switch (what) {
    case "succeed":
      return success(held, workerId);
    case "interrupt":
      return interruption(held, workerId);
    case "final":
      return failure(held, workerId, nowMs, "stop");
    default:
      return failure(held, workerId, what === "retry now" ? nowMs - 1 : nowMs + HOUR_MS);
  }
}

function eventOf(held: Believed, what: Told, workerId: WorkerId, nowMs: number): JobEvent {
  const { claimNo } = held;
  if (what === "give back") return { kind: "give-back", workerId, claimNo };
  const result = resultOf(held, what, workerId, nowMs);
  if (result.kind !== "fail")
    return { kind: result.kind, workerId, claimNo, record: result.record };
  const { record, retryAtMs, finalReason } = result;
  return { kind: "fail", workerId, claimNo, record, retryAtMs, finalReason };
}
