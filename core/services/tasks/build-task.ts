import type { TenantId } from "#core/domain/ids.ts";
import { makeTaskId, partitionOfTenant } from "#core/domain/ids.ts";
import type { Quotas } from "#core/domain/quotas.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import { checkQuotas } from "./check-quotas.ts";
import { firstRunOfNewTask } from "./first-run.ts";
import type { FieldProblem, TaskServiceDeps, TaskSettings } from "./task-settings.ts";

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
  const problems = quotas === null ? [] : checkQuotas(settings, quotas);
  if (problems.length > 0) return { kind: "invalid", problems };
  const nowMs = clock.nowMs();
  const first = firstRunOfNewTask(settings, nowMs);
  if (first.kind === "none") return { kind: "invalid", problems: [first.problem] };
  const { name, request, timeoutMs, retry, ...rest } = settings;
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
