/** How much of the service a tenant may use. */
import type { LimitValues } from "./call-limit.ts";
import {
  BODY_BYTES_MAX,
  MIN_INTERVAL_SECONDS_DEFAULT,
  MIN_INTERVAL_SECONDS_MAX,
  TASKS_QUOTA_DEFAULT,
  TASKS_QUOTA_MAX,
} from "./limits.ts";
import type { TaskStatus } from "./task.ts";

export interface Quotas {
  /** Tasks that are active or paused. */
  readonly tasksMax: number;
  /** Bytes of one request's body as it is sent. */
  readonly bodyBytesMax: number;
  /** Between two runs of a task. */
  readonly minIntervalSeconds: number;
}

/** Whether a task of this status is one of `tasksMax`. */
export function isCounted(status: TaskStatus): boolean {
  return status === "active" || status === "paused";
}

/** What holds for a caller: its tenant's quotas. */
export interface Allowance extends Quotas {
  /** What each endpoint of it is limited to at most, by caps of its own or by default; absent: to nothing. */
  readonly endpointLimit?: LimitValues;
  /** How much of a share its jobs have beside others'; absent: TENANT_WEIGHT_DEFAULT. */
  readonly weight?: number;
}

/** As set for a tenant: null follows the default, also when that changes. */
export type ChosenQuotas = { readonly [Name in keyof Quotas]: number | null };

export const QUOTAS_DEFAULT: Quotas = {
  tasksMax: TASKS_QUOTA_DEFAULT,
  bodyBytesMax: BODY_BYTES_MAX,
  minIntervalSeconds: MIN_INTERVAL_SECONDS_DEFAULT,
};

/** What may be chosen, both ends included. 0 tasks: none can be added. */
export const QUOTA_BOUNDS: {
  readonly [Name in keyof Quotas]: readonly [min: number, max: number];
} = {
  tasksMax: [0, TASKS_QUOTA_MAX],
  bodyBytesMax: [0, BODY_BYTES_MAX],
  minIntervalSeconds: [1, MIN_INTERVAL_SECONDS_MAX],
};

/** What holds for a tenant that has chosen `chosen`. */
export function effectiveQuotas(chosen: ChosenQuotas): Quotas {
  return {
    tasksMax: chosen.tasksMax ?? QUOTAS_DEFAULT.tasksMax,
    bodyBytesMax: chosen.bodyBytesMax ?? QUOTAS_DEFAULT.bodyBytesMax,
    minIntervalSeconds: chosen.minIntervalSeconds ?? QUOTAS_DEFAULT.minIntervalSeconds,
  };
}
