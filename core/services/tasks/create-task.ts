import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { makeTaskId, partitionOfTenant } from "#core/domain/ids.ts";
import type { TaskWithVersion } from "#core/domain/task.ts";
import { firstRunOfNewTask } from "./first-run.ts";
import type { FieldProblem, TaskServiceDeps, TaskSettings } from "./task-settings.ts";

export type Created =
  | { readonly kind: "created"; readonly created: TaskWithVersion }
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] }
  | { readonly kind: "name-taken" };

/** Makes a task of the tenant. `invalid` when its schedule has no occurrence in its window. */
export async function createTask(
  { shards, clock, random }: TaskServiceDeps,
  tenantId: TenantId,
  settings: TaskSettings,
): Promise<Created> {
  const nowMs = clock.nowMs();
  const first = firstRunOfNewTask(settings, nowMs);
  if (first.kind === "none") return { kind: "invalid", problems: [first.problem] };
  const { name, request, timeoutMs, retry, ...rest } = settings;
  const id = makeTaskId(nowMs, partitionOfTenant(tenantId), random.bytes(8));
  const created: TaskWithVersion = {
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
  const result = await shards.forTenant(tenantId).tasks.create(created);
  if (result.kind === "created") return { kind: "created", created };
  assert(result.kind === "name-taken", "without a key and a quota there is nothing else");
  return result;
}
