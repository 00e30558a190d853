import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { Health } from "./health.ts";
import { runLoop } from "./run-loop.ts";

const POLLING = { name: "polling", meanwhile: "no job is claimed", stuckAfterMs: 15_000 };

function open() {
  const clock = new ManualClock();
  return { clock, health: new Health({ clock, service: "executor", pid: 7 }) };
}

test("a loop that fails is wrong since its first failure, with our error's words, until a step ends well", async () => {
  const { clock, health } = open();
  health.watch(POLLING);
  health.good("polling");
  assert.equal(health.report().status, "ok");
  const since = new Date(clock.nowMs()).toISOString();
  health.failed("polling", new StoreUnavailable("MySQL does not answer"));
  await clock.advance(12_000);
  health.failed("polling", new StoreUnavailable("MySQL does not answer"));
  const report = health.report();
  assert.equal(report.status, "wrong");
  assert.deepEqual(report.wrong, [
    `polling fails since ${since} (MySQL does not answer): no job is claimed`,
  ]);
  assert.partialDeepStrictEqual(report.loops, [
    { name: "polling", lastGoodSecondsAgo: 12, failures: 2, failingSince: since },
  ]);
  health.good("polling");
  assert.deepEqual(health.report().wrong, []);
});

test("of errors that are not ours nothing is told but their class: a message may repeat what it choked on", () => {
  const { health } = open();
  health.watch(POLLING);
  health.failed("polling", new TypeError("s3cret"));
  const text = JSON.stringify(health.report());
  assert.match(text, /\(TypeError\)/);
  assert.doesNotMatch(text, /s3cret/);
});

test("a step that never ends is stuck", async () => {
  const { clock, health } = open();
  health.watch(POLLING);
  await clock.advance(15_000);
  assert.equal(health.report().status, "ok");
  await clock.advance(1_000);
  assert.deepEqual(health.report().wrong, [
    "polling is stuck: no step has ended for 16 s: no job is claimed",
  ]);
});

test("it is ready once a step of every loop has ended well, and for good: no outage later takes that back", () => {
  const { health } = open();
  assert.equal(health.report().ready, false, "nothing is watched yet");
  health.watch(POLLING);
  health.watch({ ...POLLING, name: "lease renewal" });
  health.failed("lease renewal", new StoreUnavailable("MySQL does not answer"));
  health.good("polling");
  health.good("polling");
  assert.equal(health.report().ready, false);
  health.good("lease renewal");
  assert.equal(health.report().ready, true);
  health.failed("polling", new StoreUnavailable("MySQL does not answer"));
  health.unwatch("polling");
  assert.equal(health.report().ready, true);
});

test("told to stop it is draining, whatever else it is; what the worker adds is told too", () => {
  const { health } = open();
  health.look = () => ({ wrong: ["no call starts"], figures: { held: 3 } });
  assert.deepEqual([health.report().status, health.report().figures], ["wrong", { held: 3 }]);
  health.drain();
  assert.equal(health.report().status, "draining");
  assert.deepEqual(health.report().wrong, ["no call starts"]);
});

test("runLoop tells how its steps end, and a loop that has ended is not looked at", async () => {
  const { clock, health } = open();
  const say = () => {};
  const random = { bytes: (n: number) => new Uint8Array(n), unit: () => 0.5 };
  const stop = new AbortController();
  let steps = 0;
  const step = async () => {
    if (++steps === 2) throw new StoreUnavailable("MySQL does not answer");
    return 1_000;
  };
  const ended = runLoop(
    { clock, random, logger: { info: say, warn: say, error: say }, health },
    { ...POLLING, step, backoffMs: { first: 5_000, max: 5_000 } },
    stop.signal,
  );
  await clock.advance(500);
  assert.equal(health.report().status, "ok");
  assert.equal(health.sinceGoodMs("polling"), 500);
  await clock.advance(1_000);
  assert.equal(health.report().status, "wrong");
  await clock.advance(5_000);
  assert.equal(health.report().status, "ok");
  stop.abort();
  await ended;
  assert.deepEqual(health.report().loops, []);
});
