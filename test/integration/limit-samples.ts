/** The statements about call limits, for statement-samples.ts. */
import * as callLimits from "#adapters/mysql/statements/call-limits.ts";
import * as fillEndpoints from "#adapters/mysql/statements/fill-endpoints.ts";
import * as limitSlots from "#adapters/mysql/statements/limit-slots.ts";
import * as lineUpJobs from "#adapters/mysql/statements/line-up-jobs.ts";
import * as selectLimited from "#adapters/mysql/statements/select-limited.ts";
import { endpointKey, tenantKey } from "#core/domain/call-limit.ts";
import { makeWorkerId, type TaskId, type TenantId } from "#core/domain/ids.ts";

const NOW_MS = Date.UTC(2026, 11, 1, 9);
const TENANT = "tenant-7" as TenantId;
const WORKER = makeWorkerId(new Uint8Array(16).fill(7));

/** By the function that writes it; `after`: a task from which a walk goes on. */
export function limitSingles(after: TaskId) {
  const key = endpointKey(TENANT, "https://api.example.com");
  const own = tenantKey(TENANT);
  if (key === null) throw new Error("it is an endpoint");
  const keys = [own, key];
  const slots = keys.map((one) => ({ key: one, slots: 3, takenAtMs: NOW_MS }));
  return {
    selectLimitSql: callLimits.selectLimitSql(key),
    listLimitsSql: callLimits.listLimitsSql(TENANT, key, 50),
    countSetLimitsSql: callLimits.countSetLimitsSql(TENANT, 1_000),
    lockLimitsSql: callLimits.lockLimitsSql(keys),
    selectSlotsSql: callLimits.selectSlotsSql(keys),
    updateNextCallsSql: callLimits.updateNextCallsSql([{ key, nextMs: NOW_MS + 0.25 }]),
    upsertLimitSql: callLimits.upsertLimitSql(key, { concurrency: 5, perSecond: null }),
    selectCapsSql: callLimits.selectCapsSql(keys),
    capEndpointsSql: callLimits.capEndpointsSql(keys, { concurrency: 5, perSecond: null }),
    deleteLimitSql: callLimits.deleteLimitSql(key),
    deleteSlotsOfKeySql: callLimits.deleteSlotsOfKeySql(key),
    deleteSlotsSql: limitSlots.deleteSlotsSql(keys.map((one) => ({ key: one, worker: WORKER }))),
    upsertSlotsSql: limitSlots.upsertSlotsSql(WORKER, NOW_MS, slots),
    lowerSlotsSql: limitSlots.lowerSlotsSql(WORKER, slots),
    dropSlotsSql: limitSlots.dropSlotsSql(WORKER, slots),
    listLinesSql: selectLimited.listLinesSql(1_000, 100, null),
    "listLinesSql, round": selectLimited.listLinesSql(1_000, 100, key),
    countWaitingSql: selectLimited.countWaitingSql(keys, 1_000),
    selectLimitedSql: selectLimited.selectLimitedSql(
      keys.map((one, at) => ({ key: one, queue: 16 * at, limit: 50, floorMs: NOW_MS - 5_000 })),
      NOW_MS,
    ),
    lockLineSql: selectLimited.lockLineSql(key, 1_000),
    "listLimitedTasksSql, of a tenant": lineUpJobs.listLimitedTasksSql([own], null, 1_000),
    listLimitedTasksSql: lineUpJobs.listLimitedTasksSql([key, key], after, 1_000),
    listEndpointsSql: fillEndpoints.listEndpointsSql(TENANT, "missing", after, 200),
    "listEndpointsSql, of all tasks": fillEndpoints.listEndpointsSql(TENANT, "all", null, 200),
    fillEndpointsSql: fillEndpoints.fillEndpointsSql([{ taskId: after, requestVersion: 1, key }]),
  };
}
