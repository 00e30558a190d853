/** Limits of calls of one shard, and the lines of jobs that wait under them. */
import { assert } from "#core/domain/assert.ts";
import {
  type CallLimit,
  effectiveLimit,
  type LimitKey,
  tenantKeyOf,
} from "#core/domain/call-limit.ts";
import { RELEASE_GROUP_MAX } from "#core/domain/limits.ts";
import type { LimitChanges, LimitStore } from "#core/ports/limit-store.ts";
import { readInstant, readJobId } from "./cells.ts";
import { CLAIM_MS } from "./deadlines.ts";
import { holdForTasks } from "./line-up-jobs.ts";
import type { Row } from "./pool.ts";
import {
  countSetLimitsSql,
  deleteLimitSql,
  deleteSlotsOfKeySql,
  listLimitsSql,
  selectLimitSql,
  upsertLimitSql,
} from "./statements/call-limits.ts";
import { dropSlotsSql, lowerSlotsSql } from "./statements/limit-slots.ts";
import { deleteLimitedSql, lineUpSql } from "./statements/limited-lines.ts";
import { releaseJobsSql } from "./statements/release-jobs.ts";
import { countWaitingSql, listLinesSql, lockLineSql } from "./statements/select-limited.ts";
import { takeLimited } from "./take-limited.ts";
import type { Database } from "./transaction.ts";

export function limitStore(database: Database): LimitStore {
  return {
    async listLines(aheadMs, max, after) {
      const rows = await database.select(listLinesSql(aheadMs, max, after));
      return rows.map(([key, queue, head]) => ({
        key: key as LimitKey,
        queue: queue as number,
        headMs: readInstant(head),
      }));
    },
    takeLimited: (request) => takeLimited(database, request),
    async keepSlots(workerId, kept) {
      const lowered = kept.filter(({ slots }) => slots > 0);
      const dropped = kept.filter(({ slots }) => slots === 0);
      const endsAt = performance.now() + CLAIM_MS;
      if (lowered.length > 0) await database.write(lowerSlotsSql(workerId, lowered), CLAIM_MS);
      if (dropped.length > 0)
        await database.write(dropSlotsSql(workerId, dropped), endsAt - performance.now());
    },
    releaseLine: (key, max) => releaseLine(database, key, max),
    async find(key) {
      const [row] = await database.select(selectLimitSql(key));
      return row === undefined ? null : readLimit(row);
    },
    async list(tenantId, after, max) {
      return (await database.select(listLimitsSql(tenantId, after, max))).map(readLimit);
    },
    async countSet(tenantId, max) {
      const [row] = await database.select(countSetLimitsSql(tenantId, max));
      return Number(row?.[0]);
    },
    put: (key, changes) => putLimit(database, key, changes),
    async countWaiting(keys, max) {
      if (keys.length === 0) return new Map();
      const rows = await database.select(countWaitingSql(keys, max));
      return new Map(rows.map(([key, count]) => [key as LimitKey, Number(count)]));
    },
  };
}

function readLimit(row: Row): CallLimit {
  const [key, concurrency, perSecond, maxConcurrency, maxPerSecond, updatedAt] = row;
  return {
    key: key as LimitKey,
    concurrency: concurrency as number | null,
    perSecond: perSecond as number | null,
    maxConcurrency: maxConcurrency as number | null,
    maxPerSecond: maxPerSecond as number | null,
    updatedAtMs: readInstant(updatedAt),
  };
}

async function putLimit(
  database: Database,
  key: LimitKey,
  changes: LimitChanges,
): Promise<CallLimit | null> {
  const put = await writeLimit(database, key, changes);
  // After the COMMIT: whoever makes jobs from now on sees it.
  const { limit, isNew } = put;
  if (limit !== null)
    await holdForTasks(database, [key], { isNew, check: isNew ? "all" : "missing" });
  return limit;
}

function writeLimit(
  database: Database,
  key: LimitKey,
  changes: LimitChanges,
): Promise<{ readonly limit: CallLimit | null; readonly isNew: boolean }> {
  return database.transaction(async (session) => {
    // A row that is new counts 1, one that is changed 2.
    const isNew = (await session.write(upsertLimitSql(key, changes))) === 1;
    const [row] = await session.select(selectLimitSql(key));
    assert(row !== undefined, "a limit that was written is there");
    const limit = readLimit(row);
    const { concurrency, perSecond } = effectiveLimit(limit);
    if (concurrency !== null || perSecond !== null) return { limit, isNew };
    await session.write(deleteLimitSql(key));
    await session.write(deleteSlotsOfKeySql(key));
    return { limit: null, isNew };
  });
}

/** A limit that is set again meanwhile holds for jobs from then on: what is released here goes on without. */
function releaseLine(database: Database, key: LimitKey, max: number): Promise<number> {
  assert(max > 0 && max <= RELEASE_GROUP_MAX, "a release is bounded");
  return database.transaction(async (session) => {
    if ((await session.select(selectLimitSql(key))).length > 0) return 0;
    const tenant = tenantKeyOf(key);
    // Of a tenant's own line the row is not read again: where it is there by now, jobs would be moved to where they are.
    const isLimited = tenant !== key && (await session.select(selectLimitSql(tenant))).length > 0;
    const limitKey = isLimited ? tenant : null;
    const rows = await session.select(lockLineSql(key, max));
    if (rows.length === 0) return 0;
    const jobs = rows.map((row) => ({ id: readJobId(row[0]) }));
    const released = await session.write(releaseJobsSql(jobs, limitKey));
    assert(released === jobs.length, "a release moves the jobs that it has locked");
    if (limitKey === null) await session.write(deleteLimitedSql(jobs.map(({ id }) => id)));
    else await session.write(lineUpSql(jobs));
    return released;
  });
}
