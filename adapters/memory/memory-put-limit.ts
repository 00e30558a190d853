/** Limits of calls that are set in memory, and the jobs that line up under those that are new. */
import {
  type CallLimit,
  effectiveLimit,
  endpointKey,
  type LimitKey,
  tenantKeyOf,
  tenantOf,
} from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { LINE_UP_SINCE_MS } from "#core/domain/limits.ts";
import type { LimitChanges } from "#core/ports/limit-store.ts";
import type { TaskAllowance } from "#core/ports/task-store.ts";
import { type MemoryTables, NO_RETENTION } from "./memory-tables.ts";

const NO_LIMIT = { concurrency: null, perSecond: null, maxConcurrency: null, maxPerSecond: null };

/** Null: it says nothing any more, and is gone. */
export function putLimit(
  tables: MemoryTables,
  key: LimitKey,
  changes: LimitChanges,
  nowMs: number,
): CallLimit | null {
  const { callLimits, limitSlots } = tables;
  const row = callLimits.get(key);
  const limit = { ...NO_LIMIT, ...row?.limit, ...changes, key, updatedAtMs: nowMs };
  const { concurrency, perSecond } = effectiveLimit(limit);
  if (concurrency === null && perSecond === null) {
    callLimits.delete(key);
    limitSlots.delete(key);
    return null;
  }
  callLimits.set(key, { limit, nextCallAtMs: row?.nextCallAtMs ?? 0 });
  if (row === undefined) lineUp(tables, key, nowMs);
  return limit;
}

/** Those of the URLs' endpoints that have no caps get the tenant's. */
export function capEndpoints(
  tables: MemoryTables,
  tenantId: TenantId,
  urls: readonly string[],
  quota: TaskAllowance | null,
  nowMs: number,
): void {
  const caps = quota?.endpointLimit;
  if (caps === undefined) return;
  const { concurrency: maxConcurrency, perSecond: maxPerSecond } = caps;
  for (const key of new Set(urls.map((url) => endpointKey(tenantId, url)))) {
    if (key === null) continue;
    const known = tables.callLimits.get(key)?.limit;
    if (known !== undefined && (known.maxConcurrency !== null || known.maxPerSecond !== null))
      continue;
    putLimit(tables, key, { maxConcurrency, maxPerSecond }, nowMs);
  }
}

/** Jobs that are in line already, or stand in their tenant's, whose line this is by now. */
function lineUp(tables: MemoryTables, key: LimitKey, nowMs: number): void {
  for (const job of tables.jobs.values()) {
    const task = tables.tasks.get(job.taskId);
    if (task === undefined || task.requestVersion !== job.taskVersion) continue;
    if (job.scheduledAtMs < nowMs - LINE_UP_SINCE_MS || tenantOf(key) !== job.tenantId) continue;
    if (job.limitKey !== null && job.limitKey !== tenantKeyOf(key)) continue;
    if (tables.lineOf(task).limitKey !== key) continue;
    const context = { nowMs, retention: NO_RETENTION };
    tables.applyToJob(job.id, { kind: "line-up", limitKey: key }, context);
  }
}
