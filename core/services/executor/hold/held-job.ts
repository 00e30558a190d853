/** A job in this executor's hands, and what it is known by. */
import type { WorkerId } from "#core/domain/ids.ts";
import type { ClaimedJob, HeldKey } from "#core/ports/job-store.ts";
import type { LimitedJob } from "#core/ports/limit-store.ts";
import type { CarriedVersion } from "#core/ports/task-store.ts";
import type { TakenSlot } from "./tenant-slots.ts";

export interface HeldJob {
  /** With a rate, `startAtMs` is an instant for a call of its line. */
  readonly job: ClaimedJob & Partial<Pick<LimitedJob, "startAtMs">>;
  readonly version: CarriedVersion;
  /** The id it was claimed under: results are written under it even after a fence. */
  readonly workerId: WorkerId;
  /** The database's now in the claim's SELECT. */
  readonly claimedAtMs: number;
  /** Tenant and origin: calls of which can go over the same connection. */
  readonly connection: string;
  /** `preparing`: it has a slot, and what its call needs is being got; it may still be taken back. */
  phase: "early" | "limited" | "ready" | "preparing" | "sending" | "gone";
  /** While it prepares or sends. */
  slot: TakenSlot | null;
}

export type Claimed = Pick<HeldJob, "job" | "version" | "workerId" | "claimedAtMs">;

/** What names a held job to the store. */
export function heldKey({ job, workerId }: Pick<HeldJob, "job" | "workerId">): HeldKey {
  return { id: job.id, workerId, claimNo: job.claimNo, limitKey: job.limitKey };
}

/** From here on the next slash is the one behind the host, of https too. */
const HOST_FROM = "https://".length;

/** Tenants share no connection, whatever its origin. */
export function connectionOf(job: ClaimedJob, url: string): string {
  const end = url.indexOf("/", HOST_FROM);
  return `${job.tenantId} ${end < 0 ? url : url.slice(0, end)}`;
}

export function isFirstOfSchedule({ attempt, trigger }: ClaimedJob): boolean {
  return attempt === 1 && trigger === "schedule";
}

/** From when an attempt counts as late: a first one from its second on, also where it was put off because there was no room. */
export function dueMsOf(job: ClaimedJob): number {
  return isFirstOfSchedule(job) ? job.scheduledAtMs : job.runAtMs;
}
