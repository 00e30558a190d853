import type { TenantId } from "#core/domain/ids.ts";
import type { Allowance } from "#core/domain/quotas.ts";
import type { NewTask } from "#core/ports/task-store.ts";
import { buildTask, withSecrets } from "./build-task.ts";
import type { Created } from "./create-task.ts";
import type { TaskServiceDeps, TaskSettings } from "./task-settings.ts";

/** Makes up to BULK_TASKS_MAX tasks of the tenant in one transaction. Each stands for itself; the answers are in the order given. */
export async function createTasks(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  all: readonly TaskSettings[],
  quotas: Allowance,
): Promise<readonly Created[]> {
  const outcomes = await Promise.all(
    all.map(async (settings) => {
      const outcome = buildTask(deps, tenantId, settings, quotas);
      if (outcome.kind === "invalid") return outcome;
      return { ...outcome, built: await withSecrets(deps, outcome.built, settings) };
    }),
  );
  const built: readonly NewTask[] = outcomes.flatMap((outcome) =>
    outcome.kind === "built" ? [outcome.built] : [],
  );
  const creations = await deps.shards.forTenant(tenantId).tasks.createMany(built, quotas);
  const results = new Map(built.map(({ task }, at) => [task.id, creations[at]]));
  return outcomes.map((outcome): Created => {
    if (outcome.kind === "invalid") return outcome;
    const creation = results.get(outcome.built.task.id);
    return creation === undefined || creation.kind === "created"
      ? { kind: "created", created: outcome.built }
      : creation;
  });
}
