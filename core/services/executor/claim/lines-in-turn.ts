/**
 * In which order lines are asked. Each has its turn, by key and round, so that those that wait for nothing but their own limits, however
 * many they are, keep no other from being asked.
 */
import { assert } from "#core/domain/assert.ts";
import type { LimitKey } from "#core/domain/call-limit.ts";
import { LIMIT_LINES_LISTED_MAX } from "#core/domain/limits.ts";
import { QUEUES } from "#core/domain/queue.ts";
import type { LineRequest, QueueOfLine } from "#core/ports/limit-store.ts";

assert(LIMIT_LINES_LISTED_MAX > QUEUES, "whatever is listed, it is the whole of a line at least");

/** Of a line's queues in which jobs are due, the heads, the most urgent first; none where jobs wait in hand only. */
type Heads = ReadonlyMap<number, number>;

/**
 * The lines whose turn it is after `after`: those that are `listed` (LIMIT_LINES_LISTED_MAX at most, as the store lists them), and
 * those of `inHand`. What a full list may lack is left for the next.
 */
export function linesInTurn(
  listed: readonly QueueOfLine[],
  inHand: readonly LimitKey[],
  after: LimitKey | null,
): (readonly [LimitKey, Heads])[] {
  const heads = new Map<LimitKey, Map<number, number>>();
  for (const { key, queue, headMs } of listed) {
    const known = heads.get(key);
    if (known === undefined) heads.set(key, new Map([[queue, headMs]]));
    else known.set(queue, headMs);
  }
  const round = (key: LimitKey) => (after === null || key > after ? 0 : 1);
  const isBefore = (a: LimitKey, b: LimitKey) =>
    round(a) === round(b) ? a < b : round(a) < round(b);
  const last = listed.length < LIMIT_LINES_LISTED_MAX ? undefined : listed.at(-1)?.key;
  const isIn = (key: LimitKey) => last === undefined || isBefore(key, last);
  return [...new Set([...heads.keys(), ...inHand])]
    .filter(isIn)
    .sort((a, b) => (isBefore(a, b) ? -1 : 1))
    .map((key) => [key, heads.get(key) ?? new Map()]);
}

/** The most urgent first, of those the longest due: where the rate of a tenant is short, jobs in hand get theirs in this order. */
export function byUrgency(a: LineRequest, b: LineRequest): number {
  const [queue, headMs] = headOf(a);
  const [otherQueue, otherHeadMs] = headOf(b);
  return queue === otherQueue ? headMs - otherHeadMs : queue - otherQueue;
}

function headOf({ headsMs }: LineRequest): readonly [queue: number, headMs: number] {
  const [first] = headsMs ?? [];
  return first ?? [Number.MAX_SAFE_INTEGER, 0];
}
