/** Cancels one job: what waits at once, what runs by a mark and a revocation with its id. */
import type { JobId, TenantId } from "#core/domain/ids.ts";
import { REASON_CANCELLED, type Retention } from "#core/domain/job.ts";
import { applyEvent } from "#core/domain/job-state.ts";
import type { CancelOutcome } from "#core/ports/job-store.ts";
import { readInstant } from "./cells.ts";
import { readJob } from "./job-rows.ts";
import { cancelJobSql, lockJobSql } from "./statements/cancel-job.ts";
import { selectClockSql } from "./statements/clock.ts";
import { deleteLimitedSql } from "./statements/limited-lines.ts";
import { insertRevocationSql } from "./statements/revocations.ts";
import type { Database } from "./transaction.ts";

export function cancelJob(
  database: Database,
  tenantId: TenantId,
  jobId: JobId,
  retention: Retention,
): Promise<CancelOutcome> {
  return database.transaction(async (session) => {
    const [row] = await session.select(lockJobSql(tenantId, jobId));
    if (row === undefined) return { kind: "not-found" };
    const before = readJob(row);
    const [clock] = await session.select(selectClockSql());
    const context = { nowMs: readInstant(clock?.[0]), retention };
    const after = applyEvent(before, { kind: "cancel", reason: REASON_CANCELLED }, context);
    if (after.kind !== "moved") return { kind: "finished" };
    const { job } = after;
    await session.write(cancelJobSql(job));
    if (before.status === "waiting") await session.write(deleteLimitedSql([jobId]));
    if (job.status === "cancelled") return { kind: "cancelled", job };
    await session.write(insertRevocationSql(job.taskId, jobId));
    return { kind: "marked", job };
  });
}
