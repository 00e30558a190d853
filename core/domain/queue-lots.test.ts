import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LANES, QUEUES } from "./queue.ts";
import { QueueLots } from "./queue-lots.ts";

const [HIGH, NORMAL, LOW] = [LANES, 2 * LANES, 3 * LANES] as const;
const STRIPES = [3, 7, 15].map((lane) => NORMAL + lane);

/** Of `draws`, the part of each queue. */
function partsOf(queues: readonly number[], draws: number, lotsOf: (draw: number) => QueueLots) {
  const counts = new Map(queues.map((queue) => [queue, 0]));
  for (let draw = 0; draw < draws; draw++) {
    const queue = lotsOf(draw).draw(queues);
    counts.set(queue, (counts.get(queue) ?? 0) + 1);
  }
  return queues.map((queue) => (counts.get(queue) ?? 0) / draws);
}

const SHARES = [
  [
    [HIGH, NORMAL, LOW],
    [0.6, 0.3, 0.1],
  ],
  [
    [HIGH, LOW],
    [6 / 7, 1 / 7],
  ],
  [
    [HIGH, HIGH + 1, LOW],
    [4 / 7, 2 / 7, 1 / 7],
  ],
  [
    [NORMAL, NORMAL + 1, NORMAL + 2, ...STRIPES],
    [8, 4, 2, 1 / 3, 1 / 3, 1 / 3].map((part) => part / 15),
  ],
] as const;

test("6 : 3 : 1 between high, normal and low, 8 : 4 : 2 : 1 over lanes, of which stripes share the one: of many draws, and of the first of many takes", () => {
  for (const [queues, shares] of SHARES) {
    const lots = new QueueLots(1);
    // Seeds are the times of takes: as those come, evenly or not.
    const drawn = [
      () => lots,
      ...[1, 250, 1_000].map((ms) => (n: number) => new QueueLots(1_780_000_000_000 + n * ms)),
    ];
    for (const lotsOf of drawn)
      for (const [at, part] of partsOf(queues, 20_000, lotsOf).entries())
        assert.ok(
          Math.abs(part - (shares[at] ?? 0)) < 0.015,
          `${queues}: ${part} of queue ${queues[at]}`,
        );
  }
});

test("whatever there is: one of them, critical before all others", () => {
  const queues = fc.uniqueArray(fc.nat({ max: QUEUES - 1 }), { minLength: 1, maxLength: QUEUES });
  fc.assert(
    fc.property(queues, fc.nat(), (all, seed) => {
      const drawn = new QueueLots(seed).draw(all);
      assert.ok(all.includes(drawn));
      assert.equal(
        drawn < LANES,
        all.some((queue) => queue < LANES),
      );
    }),
  );
});
