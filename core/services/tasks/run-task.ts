import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { Payload } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { payloadFaults } from "#core/domain/payload-faults.ts";
import type { Allowance, Quotas } from "#core/domain/quotas.ts";
import type { TaskVersion } from "#core/domain/task.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { MadeRun } from "#core/ports/task-store.ts";
import { checkQuotas } from "./check-quotas.ts";
import type { TaskServiceDeps } from "./task-settings.ts";

export type RunNow =
  | ({ readonly kind: "made" } & MadeRun)
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] }
  | { readonly kind: "not-found" };

interface RunOptions {
  /** Null, or not given: there is no limit. */
  readonly quotas?: Allowance | null;
  readonly idempotency?: Idempotency<MadeRun> | null;
}

/** Makes a manual job that is due now, of an active, paused or completed task; `payload` is laid over the version's request. */
export async function runTask(
  { shards, random, lanes }: Pick<TaskServiceDeps, "shards" | "random" | "lanes">,
  tenantId: TenantId,
  taskId: TaskId,
  payload: Payload | null,
  { quotas = null, idempotency = null }: RunOptions = {},
): Promise<RunNow | Replay> {
  const { tasks } = shards.forTask(taskId);
  const ran = await tasks.runNow<readonly FieldProblem[]>(
    tenantId,
    taskId,
    (task, nowMs, version) => {
      const problems = faultsOf(payload, version, quotas);
      if (problems.length > 0) return { kind: "refuse", refusal: problems };
      return {
        ...makeManualJob(task, "manual", nowMs, randomRun(random.bytes(2)), payload),
        ...(lanes && { queue: lanes.place(tenantId, task.priority, nowMs, quotas?.weight) }),
      };
    },
    idempotency,
  );
  return ran.kind === "refused" ? { kind: "invalid", problems: ran.refusal } : ran;
}

function faultsOf(
  payload: Payload | null,
  { request }: TaskVersion,
  quotas: Quotas | null,
): FieldProblem[] {
  const faults = payloadFaults(payload, request);
  if (faults.length > 0 || quotas === null) return faults;
  const { body = null, bodyBase64 = null } = payload ?? {};
  return checkQuotas({ request: { body, bodyBase64 } }, quotas);
}
