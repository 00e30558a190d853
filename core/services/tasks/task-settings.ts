/** What a caller decides about a task: the part of it that create and PATCH write. */
import type { Retention } from "#core/domain/job.ts";
import type { RetryPolicy } from "#core/domain/retry-policy.ts";
import type { Secret } from "#core/domain/secret.ts";
import type { HttpRequest, Task } from "#core/domain/task.ts";
import type { TenantLanes } from "#core/domain/tenant-lanes.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Random } from "#core/ports/random.ts";
import type { Sealer } from "#core/ports/secrets.ts";
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
  /** By the names that `request` implies, one each; not given: there is none. */
  readonly secrets?: SecretSettings;
}

export type SecretSettings = Readonly<Record<string, SecretSetting>>;

/** A secret as a caller gives it. */
export type SecretSetting =
  | {
      readonly kind: "set";
      /** What is sealed. */
      readonly text: Secret;
      /** What its fingerprint is of. */
      readonly fingerprinted: Secret;
    }
  /** It stays what it is: the caller has read this fingerprint, and writes it back. */
  | { readonly kind: "keep"; readonly fingerprint: string; readonly field: string };

/** What the task service works with. */
export interface TaskServiceDeps {
  readonly shards: Shards;
  readonly clock: Clock;
  readonly random: Random;
  /** Not needed where no secret is given. */
  readonly sealer?: Sealer;
  readonly retention: Retention;
  /** Where runs by hand are counted; not given: each goes into the first lane of its priority. */
  readonly lanes?: TenantLanes;
  /**
   * This process's rules of time zones are not those of the workers, by which runs are made: a next run that is theirs is left to them, as
   * one that was moved by other rules would be made twice.
   */
  readonly otherZoneData?: boolean;
}
