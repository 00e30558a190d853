import type { TenantId } from "#core/domain/ids.ts";
import type { Allowance } from "#core/domain/quotas.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { Creation, NewTask } from "#core/ports/task-store.ts";
import { buildTask, withSecrets } from "./build-task.ts";
import type { Created } from "./create-task.ts";
import type { TaskServiceDeps, TaskSettings } from "./task-settings.ts";

interface CreatedAll {
  readonly kind: "made";
  /** In the order given. */
  readonly results: readonly Created[];
}

/** Makes up to BULK_TASKS_MAX tasks of the tenant in one transaction. Each stands for itself. */
export async function createTasks(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  all: readonly TaskSettings[],
  quotas: Allowance,
  idempotency: Idempotency<readonly Created[]> | null,
): Promise<CreatedAll | Replay> {
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
  const resultsOf = (creations: readonly Creation[]): readonly Created[] => {
    const byTask = new Map(built.map(({ task }, at) => [task.id, creations[at]]));
    return outcomes.map((outcome): Created => {
      if (outcome.kind === "invalid") return outcome;
      const creation = byTask.get(outcome.built.task.id);
      return creation === undefined || creation.kind === "created"
        ? { kind: "created", created: outcome.built }
        : creation;
    });
  };
  const { tasks } = deps.shards.forTenant(tenantId);
  // None is good any more: some may have been when they came first.
  const replay =
    built.length === 0 && idempotency && (await tasks.findAnswer(tenantId, idempotency));
  if (replay) return replay;
  const once = idempotency && {
    ...idempotency,
    answerOf: (creations: readonly Creation[]) => idempotency.answerOf(resultsOf(creations)),
  };
  const made = await tasks.createMany(built, once, quotas);
  return made.kind === "made" ? { kind: "made", results: resultsOf(made.creations) } : made;
}
