import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LimitKey } from "#core/domain/call-limit.ts";
import { LIMIT_LINES_LISTED_MAX, LIMIT_LINES_MAX } from "#core/domain/limits.ts";
import { QUEUES } from "#core/domain/queue.ts";
import type { LineRequest, QueueOfLine } from "#core/ports/limit-store.ts";
import { byUrgency, linesInTurn } from "./lines-in-turn.ts";

/** As a store lists them. */
function listFrom(all: readonly QueueOfLine[], after: LimitKey | null): QueueOfLine[] {
  const later = all.filter(({ key }) => after === null || key > after);
  const round = all.filter(({ key }) => after !== null && key <= after);
  return [...later, ...round].slice(0, LIMIT_LINES_LISTED_MAX);
}

test("however many lines wait, in however many lanes, each has its turn within a round", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 350 }),
      fc.array(fc.constantFrom(0, 1, 4, 16, QUEUES), { minLength: 1, maxLength: 5 }),
      fc.array(fc.constantFrom(0, 1, 60, LIMIT_LINES_MAX), { minLength: 1, maxLength: 5 }),
      (keys, lanes, looks) => {
        const all: QueueOfLine[] = [];
        const inHand: LimitKey[] = [];
        const waits = new Set<LimitKey>();
        const lanesOf = new Map<LimitKey, number>();
        for (let i = 0; i < keys; i++) {
          const key = `t${String(i).padStart(4, "0")}|https://e.example:443` as LimitKey;
          const of = lanes[i % lanes.length] ?? 0;
          for (let queue = 0; queue < of; queue++) all.push({ key, queue, headMs: i });
          if (of === 0 || i % 7 === 0) inHand.push(key);
          waits.add(key);
          lanesOf.set(key, of);
        }
        // Of each look, how many lines were asked: the rest had nothing to be asked for.
        const rounds = Math.ceil(keys / LIMIT_LINES_MAX);
        const lists = Math.ceil(all.length / (LIMIT_LINES_LISTED_MAX - QUEUES));
        let after: LimitKey | null = null;
        for (let look = 0; look < rounds + lists + 1; look++) {
          const skipped = LIMIT_LINES_MAX - (looks[look % looks.length] ?? 0);
          let asked = 0;
          for (const [at, [key, headsMs]] of linesInTurn(
            listFrom(all, after),
            inHand,
            after,
          ).entries()) {
            if (asked >= LIMIT_LINES_MAX) break;
            after = key;
            waits.delete(key);
            if (at >= skipped) asked++;
            assert.equal(headsMs.size, lanesOf.get(key), "all of its lanes, or none");
          }
        }
        assert.deepEqual([...waits], []);
      },
    ),
    { numRuns: 30 },
  );
});

test("of what is asked for, the most urgent line comes first, then the longest due; one that lists no job last", () => {
  const line = (name: string, ...headsMs: [queue: number, headMs: number][]): LineRequest => ({
    key: name as LimitKey,
    ...{ queues: [], slotsMax: 1, tenantSlotsMax: 1, jobsMax: 1 },
    ...(headsMs.length > 0 && { headsMs: new Map(headsMs) }),
  });
  const lines = [
    line("none"),
    line("low", [48, 1]),
    line("later", [16, 9]),
    line("high", [16, 5], [48, 0]),
  ];
  assert.deepEqual(
    lines.sort(byUrgency).map(({ key }) => key),
    ["high", "later", "low", "none"],
  );
});
