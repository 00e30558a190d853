/**
 * The place of a job in line: `queue` = priority × 16 + lane. Lower numbers are more urgent.
 * Lane 0 is within the tenant's share, 1 up to 4×, 2 up to 16×, 3 to 15 are stripes of the rest by tenant.
 */
import { assert } from "./assert.ts";
import type { TenantId } from "./ids.ts";
import { partitionOfTenant } from "./ids.ts";

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];
export const PRIORITY_DEFAULT: Priority = "normal";

export const LANES = 16;
export const QUEUES = PRIORITIES.length * LANES;
const FIRST_STRIPE = 3;
const STRIPES = LANES - FIRST_STRIPE;

/** 0 for critical to 3 for low: also the number stored with tasks. */
export function priorityRank(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

export function priorityOfRank(rank: number): Priority {
  const priority = PRIORITIES[rank];
  assert(priority !== undefined, `no priority has rank ${rank}`);
  return priority;
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
  return queue - lane + FIRST_STRIPE + (partitionOfTenant(tenantId) % STRIPES);
}

/** Weights between priorities; critical takes what it wants before the others share the rest. */
const PRIORITY_WEIGHTS: Record<Priority, number> = { critical: 0, high: 6, normal: 3, low: 1 };

/** Weight of a lane among the lanes of its priority; the stripes share one weight. */
function laneWeight(lane: number): number {
  if (lane >= FIRST_STRIPE) return 1;
  return [8, 4, 2][lane] ?? 1;
}

export interface ClaimShare {
  readonly queue: number;
  readonly limit: number;
}

/**
 * Divides room for `room` jobs over the queues that have any, most urgent first. Critical may take all of it; the others get
 * at least one each, by weight. The limits may add up to more than `room`: the claim stops at `room` altogether.
 */
export function shareRoom(queues: readonly number[], room: number): ClaimShare[] {
  assert(room > 0, "shares need room");
  const sorted = [...queues].sort((a, b) => a - b);
  const present = [...new Set(sorted.map(priorityOfQueue))];
  const total = present.reduce((sum, priority) => sum + PRIORITY_WEIGHTS[priority], 0);
  return sorted.map((queue) => {
    const priority = priorityOfQueue(queue);
    const lanes = sorted.filter((other) => priorityOfQueue(other) === priority);
    const lanesTotal = lanes.reduce((sum, other) => sum + laneWeight(other % LANES), 0);
    const ofPriority = priority === "critical" ? room : (room * PRIORITY_WEIGHTS[priority]) / total;
    const limit = Math.ceil((ofPriority * laneWeight(queue % LANES)) / lanesTotal);
    return { queue, limit: Math.max(1, Math.min(room, limit)) };
  });
}
