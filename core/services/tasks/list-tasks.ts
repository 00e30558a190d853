import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { TaskFilter } from "#core/ports/task-store.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** Up to `limit` live tasks, newest first, with ids below `before`; `more` tells whether any follow. */
export async function listTasks(
  { shards }: Pick<TaskServiceDeps, "shards">,
  tenantId: TenantId,
  filter: TaskFilter,
  before: TaskId | null,
  limit: number,
): Promise<{ readonly items: readonly TaskWithVersion[]; readonly more: boolean }> {
  const found = await shards.forTenant(tenantId).tasks.list(tenantId, filter, before, limit + 1);
  return { items: found.slice(0, limit), more: found.length > limit };
}
