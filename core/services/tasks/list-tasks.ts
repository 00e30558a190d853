import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { LISTED_ROWS_MAX, LISTED_ROWS_MS_MAX } from "#core/domain/limits.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { TaskFilter } from "#core/ports/task-store.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

interface TasksPage {
  /** May be fewer than asked for, even none, without being the last ones. */
  readonly items: readonly TaskWithVersion[];
  /** What to pass as `before` to go on; null at the end. */
  readonly nextBefore: TaskId | null;
}

/**
 * Up to `limit` live tasks, newest first, with ids below `before`. By priority or tag it passes over so many as there is time for: a
 * tenant may have millions that are not asked for, as completed ones stay for weeks.
 */
export async function listTasks(
  { shards, clock }: Pick<TaskServiceDeps, "shards" | "clock">,
  tenantId: TenantId,
  filter: TaskFilter,
  before: TaskId | null,
  limit: number,
): Promise<TasksPage> {
  const { tasks } = shards.forTenant(tenantId);
  const passesOver = filter.priority !== null || filter.tag !== null;
  const endMs = clock.monotonicMs() + LISTED_ROWS_MS_MAX;
  const found: TaskWithVersion[] = [];
  let from = before;
  do {
    const downTo = passesOver
      ? await tasks.findListedDownTo(tenantId, filter, from, LISTED_ROWS_MAX)
      : null;
    const left = limit + 1 - found.length;
    found.push(...(await tasks.list(tenantId, filter, from, left, downTo)));
    from = downTo;
  } while (from !== null && found.length <= limit && clock.monotonicMs() < endMs);
  const items = found.slice(0, limit);
  return { items, nextBefore: found.length > limit ? (items.at(-1)?.task.id ?? null) : from };
}
