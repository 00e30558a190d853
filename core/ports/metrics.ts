import type { Priority } from "#core/domain/queue.ts";

/** Counters and distributions by a closed list of names: never one per tenant, task or job. */
export type CounterName =
  | "materialized"
  | "materialize_already_made"
  | "schedule_errors"
  | "claimed"
  | "sent"
  | "succeeded"
  | "failed"
  | "lost_races"
  | "given_back"
  | "interrupted"
  | "fenced"
  | "claims_unknown";

export interface Metrics {
  count(name: CounterName, by: number): void;
  /** Sent minus `scheduledAt` of a first attempt, in ms. */
  observeLagMs(priority: Priority, lagMs: number): void;
}
