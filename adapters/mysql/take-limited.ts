/**
 * Takes slots of limits and jobs from their lines: the worker's own row FOR SHARE, the limits, who holds their slots, the jobs. Nine
 * statements with BEGIN and COMMIT, one more with a rate and one where a holder has died, fewer where nothing changes, all within a second.
 *
 * The row of a limit is the lock of all that belongs to it. Nobody waits for it: a line whose limit another holds just now is left for the
 * next poll. What is added up is therefore exact, and a worker that died holding slots is not counted from the end of its lease on.
 */
import { assert } from "#core/domain/assert.ts";
import {
  effectiveLimit,
  type LimitKey,
  type LimitValues,
  slotsWithin,
  tenantKeyOf,
} from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import {
  CallTimes,
  callsWithin,
  mayTake,
  nextCallMs,
  planCalls,
  planStarts,
  slotsWanted,
} from "#core/domain/limited-take.ts";
import { FLOOR_SLACK_MS, LIMIT_START_AHEAD_MS, TAKE_LEASE_LEFT_MS } from "#core/domain/limits.ts";
import type {
  HeldLimit,
  LimitedJob,
  TakeLimitedRequest,
  TakeLimitedResult,
  TakenLimited,
} from "#core/ports/limit-store.ts";
import { readInstant, readMicros, readWorkerId } from "./cells.ts";
import { CLAIM_MS } from "./deadlines.ts";
import { asClaimed, readClaimedJob } from "./job-rows.ts";
import type { Row, Session } from "./pool.ts";
import { lockLimitsSql, selectSlotsSql, updateNextCallsSql } from "./statements/call-limits.ts";
import { claimJobsSql } from "./statements/claim-jobs.ts";
import { deleteSlotsSql, type SlotsKey, upsertSlotsSql } from "./statements/limit-slots.ts";
import { deleteLimitedSql } from "./statements/limited-lines.ts";
import { lockLeaseSql } from "./statements/lock-worker.ts";
import { selectLimitedSql } from "./statements/select-limited.ts";
import { type Database, isOutcomeUnknown } from "./transaction.ts";

export async function takeLimited(
  database: Database,
  request: TakeLimitedRequest,
): Promise<TakeLimitedResult> {
  const { workerId } = request;
  let taken: TakenLimited | null = null;
  try {
    return await database.transaction(async (session): Promise<TakeLimitedResult> => {
      taken = null;
      const [own] = await session.select(lockLeaseSql(workerId, TAKE_LEASE_LEFT_MS));
      if (own === undefined) return { kind: "fenced" };
      taken = await take(session, request, own[0] === 1);
      return { kind: "claimed", ...taken };
    }, CLAIM_MS);
  } catch (error) {
    if (!isOutcomeUnknown(error) || taken === null) throw error;
    return { kind: "unknown", claim: { workerId, ...(taken as TakenLimited) } };
  }
}

async function take(
  session: Session,
  request: TakeLimitedRequest,
  isLive: boolean,
): Promise<TakenLimited> {
  const wanted = slotsWanted(request.lines);
  const limits = await readLimits(session, [...wanted.keys()], request.aheadMs);
  const { nowMs, untilMs } = limits;
  const free = (key: LimitKey) =>
    isLive && !limits.lockedByOthers.has(key) && !limits.lockedByOthers.has(tenantKeyOf(key));
  const lines = request.lines.filter(({ key }) => free(key));
  const held = await holdSlots(session, request.workerId, limits, slotsWanted(lines));
  const heldOf = (key: LimitKey): HeldLimit => held.get(key) ?? { limit: null, slots: 0 };
  const startable = lines.filter(({ key }) => mayTake(key, heldOf));
  const starts = planStarts(startable, limits.rates, { nowMs, untilMs });
  const jobs = await takeJobs(session, { ...request, lines: startable }, limits);
  const keys = new Set([...starts.keys(), ...jobs.map(({ limitKey }) => limitKey)]);
  const next = [...limits.rates].flatMap(([key, { nextMs }]) =>
    [...keys].some((each) => each === key || tenantKeyOf(each) === key) ? [{ key, nextMs }] : [],
  );
  if (next.length > 0) await session.write(updateNextCallsSql(next));
  const told = lines.map(({ key }) => {
    const startsAtMs = starts.get(key);
    const line = { key, ...heldOf(key), tenant: heldOf(tenantKeyOf(key)) };
    return startsAtMs === undefined ? line : { ...line, startsAtMs };
  });
  return { claimedAtMs: nowMs, lines: told, jobs };
}

interface Holder {
  readonly worker: WorkerId;
  readonly slots: number;
  readonly isLive: boolean;
}

interface Limits {
  readonly nowMs: number;
  /** Calls of a rate that start later are not taken. */
  readonly untilMs: number;
  readonly locked: ReadonlyMap<LimitKey, LimitValues>;
  readonly lockedByOthers: ReadonlySet<LimitKey>;
  readonly holders: ReadonlyMap<LimitKey, readonly Holder[]>;
  readonly rates: ReadonlyMap<LimitKey, CallTimes>;
}

async function readLimits(
  session: Session,
  keys: readonly LimitKey[],
  aheadMs: number,
): Promise<Limits> {
  const [clock, ...rows] = await session.select(lockLimitsSql(keys));
  const nowMs = readInstant(clock?.[0]);
  const untilMs = nowMs + aheadMs + LIMIT_START_AHEAD_MS;
  const locked = new Map<LimitKey, LimitValues>();
  const rates = new Map<LimitKey, CallTimes>();
  for (const row of rows) {
    const key = row[1] as LimitKey;
    const limit = readValues(row);
    locked.set(key, limit);
    const { perSecond } = limit;
    if (perSecond === null) continue;
    const notedMs = row[6] === null ? nowMs : readMicros(row[6]);
    const nextMs = nextCallMs(notedMs, perSecond, { nowMs, untilMs });
    rates.set(key, new CallTimes(perSecond, nextMs));
  }
  const lockedByOthers = new Set<LimitKey>();
  const holders = new Map<LimitKey, Holder[]>();
  for (const [cell, worker, slots, isLive] of await session.select(selectSlotsSql(keys))) {
    const key = cell as LimitKey;
    if (!locked.has(key)) lockedByOthers.add(key);
    if (worker === null) continue;
    const holder = {
      worker: readWorkerId(worker),
      slots: slots as number,
      isLive: isLive === 1,
    };
    holders.set(key, [...(holders.get(key) ?? []), holder]);
  }
  return { nowMs, untilMs, locked, lockedByOthers, holders, rates };
}

function readValues(row: Row): LimitValues {
  return effectiveLimit({
    concurrency: row[2] as number | null,
    perSecond: row[3] as number | null,
    maxConcurrency: row[4] as number | null,
    maxPerSecond: row[5] as number | null,
  });
}

/** Writes what the worker holds of each key from now on; a key that has no limit is left out of the answer. */
async function holdSlots(
  session: Session,
  worker: WorkerId,
  { nowMs, locked, holders }: Limits,
  wanted: ReadonlyMap<LimitKey, number>,
): Promise<Map<LimitKey, HeldLimit>> {
  const held = new Map<LimitKey, HeldLimit>();
  const gone: SlotsKey[] = [];
  const kept: { key: LimitKey; slots: number }[] = [];
  for (const [key, slotsMax] of wanted) {
    const limit = locked.get(key);
    if (limit === undefined) continue;
    const all = holders.get(key) ?? [];
    const others = all.filter((holder) => holder.worker !== worker);
    for (const other of others) if (!other.isLive) gone.push({ key, worker: other.worker });
    const inUse = others.reduce((sum, { slots, isLive }) => sum + (isLive ? slots : 0), 0);
    const slots = slotsWithin(limit, inUse, slotsMax);
    held.set(key, { limit, slots });
    if (limit.concurrency !== null && slots > 0) kept.push({ key, slots });
    else if (others.length < all.length) gone.push({ key, worker });
  }
  if (gone.length > 0) await session.write(deleteSlotsSql(gone));
  if (kept.length > 0) await session.write(upsertSlotsSql(worker, nowMs, kept));
  return held;
}

async function takeJobs(
  session: Session,
  { workerId, aheadMs, lines }: TakeLimitedRequest,
  { nowMs, untilMs, rates }: Limits,
): Promise<LimitedJob[]> {
  const until = { nowMs, untilMs };
  const branches = lines.flatMap(({ key, queues, headsMs, jobsMax }) => {
    const limit = Math.min(jobsMax, callsWithin(key, rates, until.untilMs));
    if (limit < 1) return [];
    return queues.map((queue) => {
      const headMs = headsMs?.get(queue);
      // What has come since then came at its time or at now, but for transactions that took as long as this.
      const floorMs = headMs === undefined ? null : Math.min(headMs, nowMs) - FLOOR_SLACK_MS;
      return { key, queue, limit, floorMs };
    });
  });
  if (branches.length === 0) return [];
  const rows = await session.select(selectLimitedSql(branches, nowMs + aheadMs));
  const found = rows.map((row) => ({ ...readClaimedJob(row), key: row[0] as LimitKey }));
  const planned = planCalls(found, lines, rates, until);
  if (planned.length === 0) return [];
  const jobs = planned.map(({ item: { key: limitKey, ...job }, startAtMs }) => ({
    ...job,
    limitKey,
    startAtMs,
  }));
  const claimed = await session.write(claimJobsSql(jobs, workerId, nowMs, "waiting"));
  assert(claimed === jobs.length, "a take claims the jobs that it has locked");
  await session.write(deleteLimitedSql(jobs.map(({ id }) => id)));
  return asClaimed(jobs, nowMs);
}
