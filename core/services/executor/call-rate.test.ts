import assert from "node:assert/strict";
import { test } from "node:test";
import { GUESSED_PER_SECOND_MAX } from "#core/domain/limits.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { CallRate } from "./call-rate.ts";

const SLOTS = 64;

async function rateAfter(windows: { ended: number; eachMs: number; saturated: boolean }[]) {
  const clock = new ManualClock();
  const rate = new CallRate(clock, SLOTS);
  let ended = 0;
  let busyMs = 0;
  for (const window of windows) {
    await clock.advance(50);
    ended += window.ended;
    busyMs += window.ended * window.eachMs;
    rate.note({ ended, busyMs, saturated: window.saturated });
  }
  return rate.perSecond();
}

test("before the first peak: what the calls so far allow the slots, bounded; not once all slots are taken", async () => {
  const quiet = Array.from({ length: 3 }, () => ({ ended: 2, eachMs: 100, saturated: false }));
  assert.equal(await rateAfter(quiet), 640);
  const fast = Array.from({ length: 3 }, () => ({ ended: 2, eachMs: 1, saturated: false }));
  assert.equal(await rateAfter(fast), GUESSED_PER_SECOND_MAX);
  const peak = { ended: 5, eachMs: 500, saturated: true };
  assert.equal(await rateAfter([...quiet, peak]), 100);
});

test("calls ended per second, known after a twentieth of one", async () => {
  assert.equal(await rateAfter([]), 0);
  assert.equal(await rateAfter([{ ended: 200, eachMs: 10, saturated: true }]), 4_000);
});

test("calls that were sent together and end together are no rate", async () => {
  assert.equal(await rateAfter([{ ended: 64, eachMs: 500, saturated: true }]), 128);
});

test("a quiet hour leaves what the last peak has taught; slots that all hang do not", async () => {
  const peak = { ended: 200, eachMs: 10, saturated: true };
  const quiet = Array.from({ length: 1_000 }, () => ({ ended: 1, eachMs: 10, saturated: false }));
  assert.equal(await rateAfter([peak, ...quiet]), 4_000);
  const slow = Array.from({ length: 200 }, () => ({ ended: 0, eachMs: 0, saturated: true }));
  assert.equal(await rateAfter([peak, ...slow]), 0);
});
