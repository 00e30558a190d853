import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DatabaseClock } from "./database-clock.ts";

const EPOCH_MS = 1_770_000_000_000;
const ROUNDING_MS = 0.002;

/** Polls of a database whose clock is off by a step from some instant on, and runs a little faster or slower than ours. */
class Polled {
  atMs = 1_000;
  stepMs = 0;
  readonly #rate: number;
  readonly database = new DatabaseClock({ monotonicMs: () => this.atMs });

  constructor(drift = 0) {
    this.#rate = 1 + drift;
  }

  get trueMs(): number {
    return EPOCH_MS + this.stepMs + this.atMs * this.#rate;
  }

  /** Ahead is positive. */
  get errorMs(): number {
    return this.database.nowMs() - this.trueMs;
  }

  /** The database reads its clock, in whole ms, when the poll has been on its way for `outMs`. */
  poll({ outMs, backMs }: Way): ReturnType<DatabaseClock["addSample"]> {
    const sentMs = this.atMs;
    this.atMs += outMs;
    const nowMs = Math.floor(this.trueMs);
    this.atMs += backMs;
    return this.database.addSample(sentMs, this.atMs, nowMs);
  }
}

interface Way {
  readonly outMs: number;
  readonly backMs: number;
}

/** As many short ones as long ones, each half by itself: 0.5 to 400 ms there and back. */
const legMs = fc.double({ min: 0, max: 1, noNaN: true }).map((x) => 0.25 * 800 ** x);
const way = fc.record({ outMs: legMs, backMs: legMs });
const periodMs = fc.double({ min: 1, max: 2_000, noNaN: true });
const drift = fc.double({ min: -1 / 1_000, max: 1 / 1_000, noNaN: true });

test("is never ahead of the database, and behind by the quickest way back, also while the clocks run apart", () => {
  const poll = fc.record({ way, waitMs: periodMs });
  fc.assert(
    fc.property(fc.array(poll, { minLength: 1, maxLength: 60 }), drift, (polls, drift) => {
      const world = new Polled(drift);
      let behindMaxMs = Number.POSITIVE_INFINITY;
      for (const { way, waitMs } of polls) {
        const fromMs = world.atMs;
        world.poll(way);
        assert.ok(world.errorMs <= ROUNDING_MS, `ahead by ${world.errorMs} ms`);
        // A quick poll is worth a little less with time: 1/1000 that the clocks may have run apart, and 1/1000 that they have.
        const agedMs = behindMaxMs + (world.atMs - fromMs) * 0.002;
        behindMaxMs = Math.min(agedMs, way.backMs * 1.001 + 1) + waitMs * 0.001;
        world.atMs += waitMs;
        assert.ok(world.errorMs <= waitMs * 0.001 + ROUNDING_MS);
        assert.ok(-world.errorMs <= behindMaxMs + ROUNDING_MS, `behind by ${-world.errorMs} ms`);
        behindMaxMs += waitMs * 0.001;
      }
    }),
  );
});

test("a clock that is stepped is followed by the next poll, as well as its round trip can tell", () => {
  const steps = fc.oneof(
    fc.double({ min: -3_600_000, max: 3_600_000, noNaN: true }),
    fc.double({ min: -500, max: 500, noNaN: true }),
  );
  const before = fc.array(way, { minLength: 1, maxLength: 40 });
  const after = fc.array(way, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(before, steps, after, drift, periodMs, (before, stepMs, after, drift, waitMs) => {
      const world = new Polled(drift);
      for (const way of before) {
        world.poll(way);
        world.atMs += waitMs;
      }
      world.stepMs = stepMs;
      let aheadMaxMs = Number.POSITIVE_INFINITY;
      for (const way of after) {
        world.poll(way);
        // What has been set back by less than the poll was on its way may not have been.
        aheadMaxMs = Math.min(aheadMaxMs, way.outMs * 1.001 + 1);
        const { errorMs } = world;
        assert.ok(errorMs <= aheadMaxMs + ROUNDING_MS, `ahead by ${errorMs} ms`);
        if (stepMs >= 0) assert.ok(errorMs <= ROUNDING_MS, `ahead by ${errorMs} ms`);
        assert.ok(-errorMs <= way.backMs * 1.001 + 1 + ROUNDING_MS, `behind by ${-errorMs} ms`);
        world.atMs += waitMs;
      }
    }),
  );
});

test("after a failover whose first poll is slow, the second one puts it right", () => {
  for (const stepMs of [-15_000, -150, 150, 15_000]) {
    const world = new Polled();
    for (let n = 0; n < 40; n++) {
      world.poll({ outMs: 0.3, backMs: 0.3 });
      world.atMs += 2_000;
    }
    world.stepMs = stepMs;
    world.poll({ outMs: 200, backMs: 200 });
    assert.ok(Math.abs(world.errorMs) <= 201);
    world.atMs += 2_000;
    world.poll({ outMs: 0.5, backMs: 0.5 });
    assert.ok(Math.abs(world.errorMs) < 2, `${stepMs}: off by ${world.errorMs}`);
  }
});

test("one slow poll among quick ones changes nothing", () => {
  const world = new Polled();
  world.poll({ outMs: 0.3, backMs: 0.3 });
  for (const way of [
    { outMs: 400, backMs: 0.3 },
    { outMs: 0.3, backMs: 400 },
    { outMs: 1, backMs: 2_000 },
  ]) {
    world.poll(way);
    assert.ok(world.errorMs <= 0 && world.errorMs > -4, `off by ${world.errorMs}`);
  }
});

test("says which way it was set by more than passes soon, and nothing of slow polls and clocks that run apart", () => {
  for (const [stepMs, told] of [
    [-3_600_000, "back"],
    [-1_100, "back"],
    [-900, null],
    [900, null],
    [1_100, "forward"],
    [3_600_000, "forward"],
  ] as const) {
    const world = new Polled(-1 / 2_000);
    for (const backMs of [0.3, 2_000, 0.3, 400]) {
      assert.equal(world.poll({ outMs: 0.3, backMs }), null);
      world.atMs += 2_000;
    }
    world.stepMs = stepMs;
    assert.equal(world.poll({ outMs: 0.5, backMs: 0.5 }), told, `${stepMs}`);
    assert.equal(world.poll({ outMs: 0.5, backMs: 0.5 }), null);
  }
});
