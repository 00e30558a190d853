import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import { ManualClock, settle } from "#test/support/manual-clock.ts";
import { runLoop, Wake } from "./run-loop.ts";

function deps() {
  const clock = new ManualClock();
  const said: string[] = [];
  const say = (message: string) => said.push(message);
  const random = { bytes: (n: number) => new Uint8Array(n), unit: () => 1 - Number.EPSILON };
  return { clock, random, said, logger: { info: say, warn: say, error: say } };
}

test("a step runs, waits as long as it asks, and the loop ends after the step under way", async () => {
  const d = deps();
  const stop = new AbortController();
  const times: number[] = [];
  const step = async () => {
    times.push(d.clock.monotonicMs());
    return 100;
  };
  const ended = runLoop(d, { name: "t", step, backoffMs: { first: 1, max: 1 } }, stop.signal);
  await d.clock.advance(250);
  stop.abort();
  await ended;
  assert.deepEqual(times, [0, 100, 200]);
});

test("a wake ends the wait, also when it comes while the step is under way", async () => {
  const d = deps();
  const stop = new AbortController();
  const wake = new Wake();
  let steps = 0;
  const step = async () => {
    steps++;
    if (steps === 2) wake.set();
    return 1_000_000;
  };
  const ended = runLoop(d, { name: "t", step, backoffMs: { first: 1, max: 1 } }, stop.signal, wake);
  await settle();
  assert.equal(steps, 1);
  wake.set();
  await d.clock.advance(0);
  assert.equal(steps, 3);
  await d.clock.advance(999);
  assert.equal(steps, 3);
  stop.abort();
  await ended;
});

test("retryable errors are waited out with growing waits and said once in a while", async () => {
  const d = deps();
  const stop = new AbortController();
  const times: number[] = [];
  const step = async () => {
    times.push(Math.round(d.clock.monotonicMs()));
    if (times.length <= 4) throw new StoreUnavailable("MySQL does not answer");
    return 1_000_000;
  };
  const ended = runLoop(
    d,
    { name: "tick", step, backoffMs: { first: 100, max: 400 } },
    stop.signal,
  );
  await d.clock.advance(2_000);
  stop.abort();
  await ended;
  const waits = times.slice(1).map((t, i) => t - (times[i] ?? 0));
  assert.deepEqual(waits, [100, 200, 400, 400]);
  assert.deepEqual(d.said, ["tick: database away or busy; trying again", "tick: working again"]);
});

test("any other error ends the loop", async () => {
  const d = deps();
  const loop = (error: Error) =>
    runLoop(
      d,
      { name: "t", step: () => Promise.reject(error), backoffMs: { first: 1, max: 1 } },
      new AbortController().signal,
    );
  await assert.rejects(loop(new StoreRefused("bad statement")), StoreRefused);
  await assert.rejects(loop(new TypeError("bug")), TypeError);
});
