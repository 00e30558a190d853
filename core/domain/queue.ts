/**
 * The place of a job in line: `queue` = priority × 16 + lane. Lower numbers are more urgent.
 * Lane 0 is within the tenant's share, 1 up to 4×, 2 up to 16×, 3 to 15 are stripes of the rest by tenant, several of them for a
 * tenant of more weight.
 */
import { assert } from "./assert.ts";
import type { TenantId } from "./ids.ts";
import { partitionOfTenant } from "./ids.ts";

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];
export const PRIORITY_DEFAULT: Priority = "normal";

export const LANES = 16;
export const QUEUES = PRIORITIES.length * LANES;
export const FIRST_STRIPE = 3;
export const STRIPES = LANES - FIRST_STRIPE;

/** 0 for critical to 3 for low: also the number stored with tasks. */
export function priorityRank(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

export function priorityOfRank(rank: number): Priority {
  const priority = PRIORITIES[rank];
  assert(priority !== undefined, `no priority has rank ${rank}`);
  return priority;
}

/** The lane of a job with `inFront` jobs of its tenant before it, of which `share` are the tenant's part; FIRST_STRIPE: a stripe. */
export function laneBehind(inFront: number, share: number): number {
  if (inFront < share) return 0;
  if (inFront < 4 * share) return 1;
  if (inFront < 16 * share) return 2;
  return FIRST_STRIPE;
}

/** The queue of a job that is within its tenant's share. */
export function queueOf(priority: Priority): number {
  return priorityRank(priority) * LANES;
}

export function priorityOfQueue(queue: number): Priority {
  return priorityOfRank(Math.floor(queue / LANES));
}

/** One lane down, as retries and catch-up go: 0 → 1 → 2 → the tenant's stripe, which stays. */
export function oneLaneDown(queue: number, tenantId: TenantId): number {
  const lane = queue % LANES;
  if (lane >= FIRST_STRIPE) return queue;
  if (lane < FIRST_STRIPE - 1) return queue + 1;
  return stripeOf(queue - lane, tenantId);
}

function stripeOf(firstLane: number, tenantId: TenantId): number {
  return firstLane + FIRST_STRIPE + firstStripeOf(tenantId);
}

/** The stripe, from 0, that a tenant's hash gives it. */
export function firstStripeOf(tenantId: TenantId): number {
  return partitionOfTenant(tenantId) % STRIPES;
}

/** Weights between the priorities that share room; critical has room of its own. */
export const PRIORITY_WEIGHTS: Record<Priority, number> = {
  critical: 0,
  high: 6,
  normal: 3,
  low: 1,
};
/** Of lanes 0 to 2; the stripes share 1. */
export const LANE_WEIGHTS = [8, 4, 2];

export interface ClaimShare {
  readonly queue: number;
  readonly limit: number;
}

export interface Room {
  /** For jobs of any priority. */
  readonly any: number;
  /** More, that only critical jobs within their tenant's share may take: those of queue 0. */
  readonly critical: number;
  /** At most so many are asked of a queue that has fewer, so that others get its share; Infinity where it is not known. */
  readonly wantedBy?: (queue: number) => number;
}

/** The part of a room that a priority has while all others want theirs; critical may take all of it. */
export function shareOf(priority: Priority): number {
  if (priority === "critical") return 1;
  const total = PRIORITIES.reduce((sum, one) => sum + PRIORITY_WEIGHTS[one], 0);
  return PRIORITY_WEIGHTS[priority] / total;
}

/**
 * Divides room over the queues that have jobs, most urgent first. Critical may take all of it, but of what is kept for it only
 * its first lane; the others get at least one each, by weight, what one does not want going to the rest. The limits may add up
 * to more than the room: the claim stops there.
 */
export function shareRoom(queues: readonly number[], room: Room): ClaimShare[] {
  const { any, critical, wantedBy = () => Number.POSITIVE_INFINITY } = room;
  assert(any + critical > 0, "shares need room");
  const groups = PRIORITIES.map((priority) => {
    const lanes = laneWants(priority, queues, wantedBy);
    const wanted = lanes.reduce((sum, lane) => sum + lane.wanted, 0);
    return { priority, lanes, weight: PRIORITY_WEIGHTS[priority], wanted };
  }).filter(({ lanes }) => lanes.length > 0);
  const others = groups.filter(({ priority }) => priority !== "critical");
  const rooms = new Map(others.map(({ priority }, i) => [priority, divide(others, any)[i] ?? 0]));
  return groups.flatMap(({ priority, lanes }) => {
    const own = rooms.get(priority) ?? any;
    const limits = divide(lanes, own);
    return lanes.flatMap(({ queue }, i) => {
      const kept = queue === 0 ? critical : 0;
      const most = Math.ceil(own) + kept;
      const limit = Math.min(most, Math.ceil(limits[i] ?? 0) + kept);
      return most > 0 ? [{ queue, limit: Math.max(1, limit) }] : [];
    });
  });
}

interface Want {
  readonly weight: number;
  readonly wanted: number;
}

/** The lanes of a priority that have jobs, in order: 8 : 4 : 2 : 1, where the stripes share the one. */
function laneWants(
  priority: Priority,
  queues: readonly number[],
  wantedBy: (queue: number) => number,
): (Want & { readonly queue: number })[] {
  const own = queues.filter((queue) => priorityOfQueue(queue) === priority).sort((a, b) => a - b);
  const stripes = own.filter((queue) => queue % LANES >= FIRST_STRIPE).length;
  return own.map((queue) => {
    return { queue, weight: LANE_WEIGHTS[queue % LANES] ?? 1 / stripes, wanted: wantedBy(queue) };
  });
}

/** Divides room by weight. Who wants less than its share gets what it wants, and the rest is divided again. */
function divide(wants: readonly Want[], room: number): number[] {
  const got = new Map<Want, number>();
  let left = room;
  let open = [...wants];
  for (;;) {
    const total = open.reduce((sum, { weight }) => sum + weight, 0);
    const share = ({ weight }: Want) => (left * weight) / total;
    const modest = open.filter((one) => one.wanted < share(one));
    if (modest.length === 0) break;
    open = open.filter((one) => !modest.includes(one));
    for (const one of modest) got.set(one, one.wanted);
    left -= modest.reduce((sum, { wanted }) => sum + wanted, 0);
  }
  const total = open.reduce((sum, { weight }) => sum + weight, 0);
  return wants.map((one) => got.get(one) ?? (left * one.weight) / total);
}
