/** How many tasks a tenant has, where it is about to have more. */
import type { TenantId } from "#core/domain/ids.ts";
import type { OverQuota, TaskAllowance } from "#core/ports/task-store.ts";
import type { Session } from "./pool.ts";
import { lockTenantSql } from "./statements/lock-tenant.ts";
import { countOpenTasksSql } from "./statements/task-quota.ts";

/**
 * A tenant's tasks are counted under its lock unless so many requests of this size would find room. What others have under way
 * just now, and nobody sees yet, is less.
 */
const UNDER_WAY_MAX = 1_000;

/** The refusal of one task more; null where there is room. */
export async function overQuota(
  session: Session,
  tenantId: TenantId,
  quota: TaskAllowance | null,
): Promise<OverQuota | null> {
  if (quota === null) return null;
  const used = await countUsed(session, tenantId, quota, 1);
  return used < quota.tasksMax ? null : { kind: "quota", limit: quota.tasksMax, used };
}

/** Under the tenant's lock where the tasks wanted may be its last: then it holds until the transaction ends. */
export async function countUsed(
  session: Session,
  tenantId: TenantId,
  { tasksMax }: TaskAllowance,
  wanted: number,
): Promise<number> {
  const count = async () => {
    const [row] = await session.select(countOpenTasksSql(tenantId, tasksMax + 1));
    return Number(row?.[0]);
  };
  const used = await count();
  if (used + wanted * UNDER_WAY_MAX <= tasksMax) return used;
  await session.write(lockTenantSql(tenantId));
  return count();
}
