/**
 * The load that the benches measure with: 1,000 tenants and 50,000 tasks, of which the ten largest tenants hold 40 %; 38
 * executions a second on average; 30,000 tasks due at one second, as at 09:00:00; endpoints fast, slow, flaky and permanently
 * down. A model is a function of its seed and of the instants given: the same seed is the same load again.
 */

import { assert } from "#core/domain/assert.ts";
import {
  makeTaskId,
  parseTenantId,
  partitionOfTenant,
  type TaskId,
  type TenantId,
} from "#core/domain/ids.ts";
import type { Schedule } from "#core/domain/schedule.ts";

export interface LoadTask {
  readonly id: TaskId;
  readonly tenantId: TenantId;
  /** 0 critical to 3 low. */
  readonly priority: number;
  readonly schedule: Schedule;
  readonly nextRunAtMs: number;
  readonly url: string;
  readonly timeoutMs: number;
}

export interface LoadModelOptions {
  readonly seed: number;
  /** Where the target listens: origins, of which each task calls one. */
  readonly targets: readonly string[];
  /** The first runs of the steady tasks come from here on. */
  readonly fromMs: number;
  /** When the peak's tasks are due. */
  readonly peakAtMs: number;
  /** 1 is the model; 0.01 is a hundredth of its tenants, tasks and executions a second. */
  readonly scale: number;
  /**
   * `mixed` is the model's; `reachable` is without those that are down; `instant` answers every call at once, to compare with raw
   * calls; `delayMs` all after so long.
   */
  readonly endpoints: "mixed" | "reachable" | "instant" | { readonly delayMs: number };
  /** Other numbers of tasks by period than the model's. */
  readonly steady?: readonly (readonly [count: number, seconds: number])[];
  readonly peakTasks?: number;
}

const TENANTS = 1_000;
const PEAK_TASKS = 30_000;
/** How many tasks have which period: 37.7 executions a second altogether, the daily ones of the peak not counted. */
const STEADY: readonly (readonly [count: number, seconds: number])[] = [
  [1_500, 60],
  [3_000, 300],
  [9_600, 3_600],
  [5_900, 86_400],
];
/** Groups of calls, in the target's words. */
export const STEADY_GROUP = 0;
export const PEAK_GROUP = 1;

const DAY_SECONDS = 86_400;
const LARGEST = 10;
const LARGEST_SHARE = 0.4;
const PRIORITY_SHARES = [0.05, 0.15, 0.6, 0.2];
/** Nothing listens on the discard port: a connection is refused at once. */
const DOWN_URL = "http://127.0.0.1:9/down";
const TIMEOUT_MS = 10_000;

/** Pseudo-random numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function seededUnit(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function buildLoadModel(options: LoadModelOptions): LoadTask[] {
  const { scale, fromMs, peakAtMs } = options;
  const unit = seededUnit(options.seed);
  const scaled = (count: number) => Math.max(1, Math.round(count * scale));
  const tenants = Math.max(LARGEST + 1, scaled(TENANTS));
  const tasks: LoadTask[] = [];
  const add = (seconds: number, nextRunAtMs: number, group: number) => {
    const tenantId = tenantNamed(`load-${pickTenant(unit, tenants)}`);
    const priority = pickPriority(unit());
    const anchor = new Date(nextRunAtMs).toISOString();
    tasks.push({
      id: seededTaskId(tenantId, fromMs, unit),
      tenantId,
      priority,
      schedule: { type: "every", seconds, anchor },
      nextRunAtMs,
      url: pickEndpoint(unit, options, `${priority}/${group}`),
      timeoutMs: TIMEOUT_MS,
    });
  };
  for (const [count, seconds] of options.steady ?? STEADY)
    for (let i = scaled(count); i > 0; i--)
      add(seconds, fromMs + Math.floor(unit() * seconds) * 1_000, STEADY_GROUP);
  for (let i = options.peakTasks ?? scaled(PEAK_TASKS); i > 0; i--)
    add(DAY_SECONDS, peakAtMs, PEAK_GROUP);
  return tasks;
}

/** How many runs of tasks whose endpoint is there are scheduled from `fromMs` (inclusive) to `untilMs` (exclusive), by priority. */
export function countDue(tasks: readonly LoadTask[], fromMs: number, untilMs: number): number[] {
  const due = PRIORITY_SHARES.map(() => 0);
  for (const { schedule, nextRunAtMs, priority, url } of tasks) {
    assert(schedule.type === "every", "the model's tasks run every so often");
    if (url.startsWith(DOWN_URL)) continue;
    const runsBefore = (ms: number) =>
      Math.max(0, Math.ceil((ms - nextRunAtMs) / (schedule.seconds * 1_000)));
    due[priority] = (due[priority] ?? 0) + runsBefore(untilMs) - runsBefore(fromMs);
  }
  return due;
}

export function tenantNamed(name: string): TenantId {
  const tenantId = parseTenantId(name);
  assert(tenantId !== null, `${name} is a tenant's id`);
  return tenantId;
}

export function seededTaskId(tenantId: TenantId, atMs: number, unit: () => number): TaskId {
  const bytes = Uint8Array.from({ length: 8 }, () => Math.floor(unit() * 256));
  return makeTaskId(atMs, partitionOfTenant(tenantId), bytes);
}

/** The ten largest hold their share evenly, the others the rest. */
function pickTenant(unit: () => number, tenants: number): number {
  if (unit() < LARGEST_SHARE) return Math.floor(unit() * LARGEST);
  return LARGEST + Math.floor(unit() * (tenants - LARGEST));
}

function pickPriority(at: number): number {
  let left = at;
  for (const [rank, share] of PRIORITY_SHARES.entries()) {
    if (left < share) return rank;
    left -= share;
  }
  return PRIORITY_SHARES.length - 1;
}

/** 80 % answer within 20 ms, 12 % take 50 to 500 ms, 5 % fail three times of ten, 3 % are down. */
function pickEndpoint(unit: () => number, options: LoadModelOptions, tail: string): string {
  const { targets, endpoints } = options;
  const [kind, amount] = [unit(), unit()];
  const targetUrl =
    targets.length === 1 ? targets[0] : targets[Math.floor(unit() * targets.length)];
  if (typeof endpoints === "object") return `${targetUrl}/delay/${endpoints.delayMs}/${tail}`;
  if (endpoints === "instant") return `${targetUrl}/ok/0/${tail}`;
  if (kind < 0.8) return `${targetUrl}/delay/${Math.floor(amount * 21)}/${tail}`;
  if (kind < 0.92) return `${targetUrl}/delay/${50 + Math.floor(amount * 451)}/${tail}`;
  if (kind < 0.97 || endpoints === "reachable") return `${targetUrl}/flaky/30/${tail}`;
  return `${DOWN_URL}/${tail}`;
}
