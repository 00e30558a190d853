/** What the reconciler does to jobs in memory. */
import type { WorkerId } from "#core/domain/ids.ts";
import type { Job, Retention } from "#core/domain/job.ts";
import type { Rescued, RunningKey } from "#core/ports/job-store.ts";
import type { MemoryTables } from "./memory-tables.ts";

export function listHeldBy(
  tables: MemoryTables,
  workers: readonly WorkerId[],
  limit: number,
): RunningKey[] {
  const held = runningJobs(tables).filter(
    ({ workerId }) => workerId !== null && workers.includes(workerId),
  );
  return held.slice(0, limit).map(runningKey);
}

export function listPastBackstop(tables: MemoryTables, nowMs: number, limit: number): RunningKey[] {
  const past = runningJobs(tables).filter(({ dueAtMs }) => dueAtMs < nowMs);
  return past.slice(0, limit).map(runningKey);
}

export function rescueJobs(
  tables: MemoryTables,
  keys: readonly RunningKey[],
  context: { readonly nowMs: number; readonly retention: Retention },
): Rescued {
  const counts = { pending: 0, dead: 0, cancelled: 0 };
  for (const { id, claimNo } of keys) {
    const after = tables.applyToJob(id, { kind: "rescue", claimNo }, context);
    if (after.kind !== "moved") continue;
    if (after.job.status === "dead") counts.dead++;
    else if (after.job.status === "cancelled") counts.cancelled++;
    else counts.pending++;
  }
  return counts;
}

function runningJobs(tables: MemoryTables): Job[] {
  const running = [...tables.jobs.values()].filter(({ status }) => status === "running");
  return running.sort(
    (a, b) => a.queue - b.queue || a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1),
  );
}

function runningKey({ id, claimNo, limitKey }: Job): RunningKey {
  return { id, claimNo, limitKey };
}
