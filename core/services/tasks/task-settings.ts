/** What a caller decides about a task: the part of it that create and PATCH write. */
import type { Retention } from "#core/domain/job.ts";
import type { RetryPolicy } from "#core/domain/retry-policy.ts";
import type { HttpRequest, Task } from "#core/domain/task.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Random } from "#core/ports/random.ts";
import type { Shards } from "#core/ports/shards.ts";

export interface TaskSettings
  extends Pick<
    Task,
    "description" | "tags" | "schedule" | "priority" | "catchUp" | "startAtMs" | "endAtMs"
  > {
  /** Null: the task is called by its id. */
  readonly name: string | null;
  readonly request: HttpRequest;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
}

/** `field` is dotted, as the caller wrote it: `schedule.expression`. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** What the task service works with. */
export interface TaskServiceDeps {
  readonly shards: Shards;
  readonly clock: Clock;
  readonly random: Random;
  readonly retention: Retention;
}
