/** Create or replace by the caller's own name. */
import { OperatingError } from "#core/domain/errors.ts";
import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { PUT_PAST_MS_MAX } from "#core/domain/limits.ts";
import type { Allowance } from "#core/domain/quotas.ts";
import { atInstantMs } from "#core/domain/schedule.ts";
import type { Task, TaskWithVersion } from "#core/domain/task.ts";
import type { Created } from "./create-task.ts";
import { createTask } from "./create-task.ts";
import { editTask } from "./edit-task.ts";
import type { TaskServiceDeps, TaskSettings } from "./task-settings.ts";

/** What the caller expects to find: anything, nothing (create only), something, or what one of the tags names. */
export type Expected =
  | { readonly kind: "anything" }
  | { readonly kind: "nothing" }
  | { readonly kind: "something" }
  | { readonly kind: "tagged"; readonly tags: readonly string[] };

export type Put =
  | Exclude<Created, { readonly kind: "name-taken" }>
  | { readonly kind: "replaced"; readonly current: TaskWithVersion }
  /** Not what the caller expected; null when there is none. */
  | { readonly kind: "mismatch"; readonly task: Task | null };

/** The name was taken, or freed, between looking and writing, every time. */
class NameContended extends OperatingError {
  override readonly name = "NameContended";
  readonly code = "name-contended";
  readonly retryable = true;
}

/**
 * Each further try means that another caller has made, renamed or deleted the task between two statements of ours. Where many do so at once
 * all wait for one lock, and lose together: what ten tries take is within a request's time.
 */
const TRIES_MAX = 10;

type NamedSettings = TaskSettings & { readonly name: string };

/** Makes the task of this name, or turns the one that has it into `settings` as a whole. */
export async function putTask(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  settings: NamedSettings,
  expected: Expected,
  quotas: Allowance,
): Promise<Put> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const done = await tryPut(deps, tenantId, settings, expected, quotas);
    if (done !== null) return done;
  }
  throw new NameContended("the task of this name was made, renamed or deleted at the same time");
}

/** Null when the name meant something else by the time of the write. */
async function tryPut(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  settings: NamedSettings,
  expected: Expected,
  quotas: Allowance,
): Promise<Put | null> {
  const found = await deps.shards.forTenant(tenantId).tasks.findByName(tenantId, settings.name);
  if (found === null) {
    return expected.kind === "something" || expected.kind === "tagged"
      ? { kind: "mismatch", task: null }
      : make(deps, tenantId, settings, quotas);
  }
  if (expected.kind === "nothing") return { kind: "mismatch", task: found.task };
  const ifTags = expected.kind === "tagged" ? expected.tags : null;
  return replace(deps, found.task, ifTags, settings, quotas);
}

async function make(
  deps: TaskServiceDeps,
  tenantId: TenantId,
  settings: NamedSettings,
  quotas: Allowance,
): Promise<Put | null> {
  const problem = refuseLongPast(settings, deps.clock.nowMs());
  if (problem !== null) return { kind: "invalid", problems: [problem] };
  const made = await createTask(deps, tenantId, settings, { quotas });
  switch (made.kind) {
    case "name-taken":
      return null;
    case "replayed":
    case "key-reused":
    case "key-in-work":
      throw new Error("a create without a key is not replayed (indicates a bug)");
    default:
      return made;
  }
}

async function replace(
  deps: TaskServiceDeps,
  { tenantId, id }: Task,
  ifTags: readonly string[] | null,
  settings: NamedSettings,
  quotas: Allowance,
): Promise<Put | null> {
  const { secrets } = settings;
  const edited = await editTask<{ readonly kind: "renamed" }>(
    deps,
    tenantId,
    id,
    ifTags,
    ({ task }) =>
      task.name === settings.name
        ? { kind: "ok", settings }
        : { kind: "refuse", refusal: { kind: "renamed" } },
    { quotas, ...(secrets === undefined ? {} : { secrets }) },
  );
  switch (edited.kind) {
    case "written":
    case "unchanged":
      return { kind: "replaced", current: edited.current };
    case "quota":
      return edited;
    case "not-found":
    case "name-taken":
      return null;
    case "refused":
      switch (edited.refusal.kind) {
        case "renamed":
          return null;
        case "tag-mismatch":
          return { kind: "mismatch", task: edited.refusal.task };
        case "invalid":
          return edited.refusal;
      }
  }
}

/** A PUT that is repeated with every deployment does not run a one-off again, once the completed task has been removed. */
function refuseLongPast({ schedule }: TaskSettings, nowMs: number): FieldProblem | null {
  if (schedule.type !== "at" || nowMs - atInstantMs(schedule) <= PUT_PAST_MS_MAX) return null;
  const message =
    "passed more than a day ago, and there is no task of this name, or none any more: give a later time, or make it with POST, which runs it at once";
  return { field: "schedule.at", message };
}
