import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LANES, PRIORITIES, QUEUES, queueOf, shareOf } from "./queue.ts";
import { QueueTurns } from "./queue-turns.ts";

/** Takes `turns` turns among queues that never run empty; how many each had. */
function serveAll(turns: QueueTurns, count: number): Map<number, number> {
  const had = new Map<number, number>();
  for (let turn = 0; turn < count; turn++) {
    const queue = turns.next();
    assert(queue !== null);
    turns.serve(queue);
    had.set(queue, (had.get(queue) ?? 0) + 1);
  }
  return had;
}

function turnsWith(...queues: number[]): QueueTurns {
  const turns = new QueueTurns();
  for (const queue of queues) turns.add(queue);
  return turns;
}

const [HIGH, NORMAL, LOW] = [LANES, 2 * LANES, 3 * LANES] as const;

test("high, normal and low have turns 6 : 3 : 1, exactly", () => {
  const had = serveAll(turnsWith(HIGH, NORMAL, LOW), 1_000);
  assert.deepEqual([had.get(HIGH), had.get(NORMAL), had.get(LOW)], [600, 300, 100]);
});

test("each priority has turns of its own, by its weight", () => {
  for (const priority of PRIORITIES) {
    const turns = turnsWith(queueOf(priority));
    assert.equal(turns.next(), queueOf(priority));
    assert.equal(turns.critical, priority === "critical" ? 1 : 0);
  }
  const others = PRIORITIES.filter((priority) => priority !== "critical");
  const had = serveAll(turnsWith(...others.map(queueOf)), 1_000);
  for (const priority of others) {
    const turns = had.get(queueOf(priority)) ?? 0;
    assert(Math.abs(turns - 1_000 * shareOf(priority)) <= 1, `${priority} has ${turns} of 1,000`);
  }
});

test("lanes have turns 8 : 4 : 2 : 1, stripes share the one", () => {
  const stripes = [3, 7, 15].map((lane) => NORMAL + lane);
  const had = serveAll(turnsWith(NORMAL, NORMAL + 1, NORMAL + 2, ...stripes), 4_500);
  assert.deepEqual(
    [NORMAL, NORMAL + 1, NORMAL + 2, ...stripes].map((queue) => had.get(queue)),
    [2_400, 1_200, 600, 100, 100, 100],
  );
});

test("critical comes first, and alone where only it may go", () => {
  const turns = turnsWith(2, HIGH, LOW);
  assert.deepEqual([...serveAll(turns, 100).keys()], [2]);
  turns.remove(2);
  assert.equal(turns.next(true), null);
  assert.equal(turns.next(), HIGH);
});

test("who comes late has saved nothing up, and owes nothing", () => {
  const turns = turnsWith(HIGH);
  serveAll(turns, 1_000);
  turns.add(LOW);
  const had = serveAll(turns, 700);
  assert.deepEqual([had.get(HIGH), had.get(LOW)], [600, 100]);
  turns.remove(HIGH);
  serveAll(turns, 1_000);
  turns.add(HIGH);
  const again = serveAll(turns, 701);
  assert.deepEqual([again.get(HIGH), again.get(LOW)], [601, 100]);
});

test("who is passed over for long has saved nothing up either, in any of the three", () => {
  for (const [closed, other, part] of [
    [NORMAL + 3, NORMAL, 1 / 9],
    [NORMAL + 3, NORMAL + 7, 1 / 2],
    [LOW, HIGH, 1 / 7],
  ] as const) {
    const turns = turnsWith(closed, other);
    for (let turn = 0; turn < 20_000; turn++) {
      assert.equal(
        turns.next(false, (queue) => queue !== closed),
        other,
      );
      turns.serve(other);
    }
    const had = serveAll(turns, 1_000);
    assert.ok(Math.abs((had.get(closed) ?? 0) - part * 1_000) <= 1, `${had.get(closed)}`);
  }
});

test("whatever comes and goes: the queue whose turn it is has a job, and nobody waits longer than its weight says", () => {
  const step = fc.record({ queue: fc.integer({ min: LANES, max: QUEUES - 1 }), more: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
      const turns = new QueueTurns();
      const left = new Map<number, number>();
      const waited = new Map<number, number>();
      const serveOne = () => {
        const queue = turns.next();
        assert.equal(queue === null, left.size === 0, "work-conserving");
        if (queue === null) return false;
        const count = left.get(queue) ?? 0;
        assert(count > 0);
        turns.serve(queue);
        turns.remove(queue);
        if (count === 1) left.delete(queue);
        else left.set(queue, count - 1);
        waited.delete(queue);
        for (const other of left.keys())
          if (other !== queue) waited.set(other, (waited.get(other) ?? 0) + 1);
        // The least weight is a thirteenth of one in 15 of one in 10, and each of the three may be just begun.
        assert(Math.max(0, ...waited.values()) <= 3 * 13 * 15 * 10);
        return true;
      };
      for (const { queue, more } of steps) {
        for (let i = 0; i <= more; i++) turns.add(queue);
        left.set(queue, (left.get(queue) ?? 0) + more + 1);
        serveOne();
      }
      while (serveOne());
    }),
  );
});
