import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { makeTaskId, partitionOfTenant } from "#core/domain/ids.ts";
import type { Quotas } from "#core/domain/quotas.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import { changeMarks } from "#core/domain/task-secrets.ts";
import type { NewTask } from "#core/ports/task-store.ts";
import { checkQuotas } from "./check-quotas.ts";
import { firstRunOfNewTask } from "./first-run.ts";
import { sealSecrets } from "./seal-secrets.ts";
import type { SecretSettings, TaskServiceDeps, TaskSettings } from "./task-settings.ts";

export type Built =
  | { readonly kind: "built"; readonly built: TaskWithVersion }
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] };

/** A new task with its first version, not stored yet. `invalid` when its schedule has no run in its window, or it is beyond the quotas. */
export function buildTask(
  { clock, random }: Pick<TaskServiceDeps, "clock" | "random">,
  tenantId: TenantId,
  settings: TaskSettings,
  quotas: Quotas | null,
): Built {
  const problems = [
    ...(quotas === null ? [] : checkQuotas(settings, quotas)),
    ...refuseKept(settings.secrets),
  ];
  if (problems.length > 0) return { kind: "invalid", problems };
  const nowMs = clock.nowMs();
  const first = firstRunOfNewTask(settings, nowMs);
  if (first.kind === "none") return { kind: "invalid", problems: [first.problem] };
  const { name, request, timeoutMs, retry, secrets: _, ...rest } = settings;
  const id = makeTaskId(nowMs, partitionOfTenant(tenantId), random.bytes(8));
  const built: TaskWithVersion = {
    task: {
      ...rest,
      id,
      tenantId,
      name: name ?? id,
      status: "active",
      nextRunAtMs: first.atMs,
      madeUntilMs: null,
      version: 1,
      requestVersion: 1,
      timeoutMs,
      maxAttempts: retry.maxAttempts,
      error: null,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    },
    version: { taskId: id, requestVersion: 1, request, timeoutMs, retry },
  };
  return { kind: "built", built };
}

/** A new task has no secret that could stay. */
function refuseKept(secrets: SecretSettings = {}): FieldProblem[] {
  return Object.values(secrets).flatMap((setting) =>
    setting.kind === "keep"
      ? [{ field: setting.field, message: "is a fingerprint, and there is no secret yet: give it" }]
      : [],
  );
}

/** The built task with its secrets, sealed for it. Throws SecretsUnavailable. */
export async function withSecrets(
  { sealer }: Pick<TaskServiceDeps, "sealer">,
  built: TaskWithVersion,
  { secrets }: TaskSettings,
): Promise<NewTask> {
  const { tenantId, id } = built.task;
  const sealed = await sealSecrets(sealer, tenantId, id, secrets);
  if (sealed.length === 0) return built;
  return { ...built, sealed, secrets: changeMarks([], { set: sealed, remove: [] }) };
}
