import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";

test("a sleep ends at its time, when it is aborted, and at once where it is so already", {
  timeout: 1_500,
}, async () => {
  await systemClock.sleep(1);
  const stop = new AbortController();
  const asleep = systemClock.sleep(60_000, stop.signal);
  stop.abort();
  await asleep;
  await systemClock.sleep(60_000, stop.signal);
});

test("a timer for longer than setTimeout takes does not fire at once, and can be cancelled", async () => {
  let fired = 0;
  const cancel = systemClock.setTimer(2 ** 31, () => fired++);
  await systemClock.sleep(10);
  cancel();
  assert.equal(fired, 0);
});
