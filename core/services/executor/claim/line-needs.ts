/** What an executor asks for of a line, and what an answer says of more. Pure. */
import type { LimitValues } from "#core/domain/call-limit.ts";
import { LIMIT_START_AHEAD_MS, LINE_HELD_MAX } from "#core/domain/limits.ts";
import type { TakenLine } from "#core/ports/limit-store.ts";
import { isBounded, type KeyView } from "../hold/limit-line.ts";
import type { LineView } from "../hold/limit-lines.ts";

/** Jobs of a line of which nothing is known yet. */
export const FIRST_JOBS = 2;

/** Slots that a take asks for altogether: never fewer than are held, which calls may be using. */
export function slotsToAsk(
  { limit, slots }: KeyView,
  askedBefore: number | undefined,
  eager: boolean,
  liveWorkers: number,
): number {
  const concurrency = limit?.concurrency ?? null;
  if (concurrency === null) return Math.max(1, slots);
  const part = Math.ceil(concurrency / Math.max(1, liveWorkers));
  const isFree = askedBefore !== undefined && slots >= askedBefore;
  const wanted = Math.max(part, isFree && eager ? slots + 1 : slots);
  return Math.max(slots, Math.min(concurrency, wanted));
}

/** Jobs that a line should have here besides the calls under way: what it does until the poll after the next. */
export function jobsToHold(
  view: LineView,
  slotsMax: number,
  tenantSlotsMax: number,
  { aheadMs, periodMs }: { readonly aheadMs: number; readonly periodMs: number },
): number {
  const { own, tenant, meanMs, held, unstarted, ended } = view;
  if (own.limit === undefined) return FIRST_JOBS;
  const underWay = held - unstarted;
  const bounds: number[] = [LINE_HELD_MAX];
  for (const [key, slots] of [
    [own, slotsMax],
    [tenant, tenantSlotsMax],
  ] as const) {
    const { concurrency = null, perSecond = null } = key?.limit ?? {};
    if (concurrency !== null)
      bounds.push(
        slots * (1 + Math.max(1, (2 * periodMs) / Math.max(1, meanMs ?? periodMs))) - underWay,
      );
    if (perSecond !== null) bounds.push(1 + (perSecond * (aheadMs + LIMIT_START_AHEAD_MS)) / 1_000);
  }
  // A job of a rate comes with an instant, which is lost where no slot is free then.
  if (isBounded(own.limit) && [own, tenant].some((key) => isRated(key?.limit ?? null)))
    bounds.push(Math.max(FIRST_JOBS, slotsMax - underWay + ended));
  return Math.max(FIRST_JOBS - underWay, Math.ceil(Math.min(...bounds)));
}

export function lacks({ limit, slots }: KeyView, slotsMax: number): boolean {
  return limit === undefined || isBelow(limit, slots, slotsMax);
}

export function isBelow(limit: LimitValues | null, slots: number, slotsMax: number): boolean {
  return limit !== null && limit.concurrency !== null && slots < slotsMax;
}

export function isOutOfSlots({ limit, slots, tenant }: TakenLine): boolean {
  return isBelow(limit, slots, 1) || isBelow(tenant.limit, tenant.slots, 1);
}

export function isRated(limit: LimitValues | null): boolean {
  return limit !== null && limit.perSecond !== null;
}
