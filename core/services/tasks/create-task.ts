import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Allowance } from "#core/domain/quotas.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { Creation } from "#core/ports/task-store.ts";
import { buildTask, withSecrets } from "./build-task.ts";
import type { TaskServiceDeps, TaskSettings } from "./task-settings.ts";

export type Created =
  | { readonly kind: "created"; readonly created: TaskWithVersion }
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] }
  | Exclude<Creation, { readonly kind: "created" }>;

interface CreateOptions {
  /** Null, or not given: there is no limit. */
  readonly quotas?: Allowance | null;
  readonly idempotency?: Idempotency<TaskWithVersion> | null;
}

/** Makes a task of the tenant. `invalid` when its schedule has no occurrence in its window, or it is beyond the quotas. */
export async function createTask(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  settings: TaskSettings,
  { quotas = null, idempotency = null }: CreateOptions = {},
): Promise<Created | Replay> {
  const { tasks } = deps.shards.forTenant(tenantId);
  const outcome = buildTask(deps, tenantId, settings, quotas);
  if (outcome.kind === "invalid") {
    // It may have been good when it came first: its window was open, or the quota larger.
    const replay = idempotency && (await tasks.findAnswer(tenantId, idempotency));
    return replay ?? outcome;
  }
  const created = await withSecrets(deps, outcome.built, settings);
  const result = await tasks.create(created, idempotency, quotas);
  return result.kind === "created" ? { kind: "created", created } : result;
}
