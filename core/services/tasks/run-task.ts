import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { randomRun } from "#core/domain/ids.ts";
import type { Payload } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import type { Allowance, Quotas } from "#core/domain/quotas.ts";
import type { HttpRequest, TaskVersion } from "#core/domain/task.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { MadeRun } from "#core/ports/task-store.ts";
import { checkQuotas } from "./check-quotas.ts";
import type { FieldProblem, TaskServiceDeps } from "./task-settings.ts";

export type RunNow =
  | ({ readonly kind: "made" } & MadeRun)
  | { readonly kind: "invalid"; readonly problems: readonly FieldProblem[] }
  | { readonly kind: "not-found" };

interface RunOptions {
  /** Null, or not given: there is no limit. */
  readonly quotas?: Allowance | null;
  readonly idempotency?: Idempotency<MadeRun> | null;
}

/** Methods whose requests carry no body. */
export const BODILESS_METHODS: readonly string[] = ["GET", "HEAD"];

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
  const clashes = secretClashes(payload, request);
  if (clashes.length > 0) return clashes;
  const hasBody = payload?.body !== undefined || payload?.bodyBase64 !== undefined;
  if (!hasBody) return [];
  if (BODILESS_METHODS.includes(request.method)) {
    const message = `the task calls with ${request.method}, which carries no body`;
    return [{ field: "request.body", message }];
  }
  const { body = null, bodyBase64 = null } = payload;
  return quotas === null ? [] : checkQuotas({ request: { body, bodyBase64 } }, quotas);
}

/** What is a secret of the task is sent by every run of it: a payload is not where secrets belong. */
function secretClashes(payload: Payload | null, request: HttpRequest): FieldProblem[] {
  const secret = new Set((request.secretHeaders ?? []).map((name) => name.toLowerCase()));
  if (request.auth !== undefined) secret.add("authorization");
  return Object.keys(payload?.headers ?? {})
    .filter((name) => secret.has(name.toLowerCase()))
    .map((name) => ({ field: `request.headers.${name}`, message: "is a secret of the task" }));
}
