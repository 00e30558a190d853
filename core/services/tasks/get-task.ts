import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

/** A live task of the tenant; null when there is none. */
export function getTask(
  { shards }: Pick<TaskServiceDeps, "shards">,
  tenantId: TenantId,
  taskId: TaskId,
): Promise<TaskWithVersion | null> {
  return shards.forTask(taskId).tasks.find(tenantId, taskId);
}

/** The same by its name. */
export function getTaskByName(
  { shards }: Pick<TaskServiceDeps, "shards">,
  tenantId: TenantId,
  name: string,
): Promise<TaskWithVersion | null> {
  return shards.forTenant(tenantId).tasks.findByName(tenantId, name);
}
