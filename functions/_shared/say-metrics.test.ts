import assert from "node:assert/strict";
import { test } from "node:test";
import { openMetrics } from "#adapters/system/metrics.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { sayingMetrics } from "./say-metrics.ts";

function deps() {
  const said: Record<string, unknown>[] = [];
  const none = () => {};
  const logger = {
    ...{ info: none, warn: none, error: none },
    metrics: (line: Readonly<Record<string, unknown>>) => void said.push(line),
  };
  return { said, clock: new ManualClock(), logger, metrics: openMetrics("reconciler") };
}

test("what a long run counts is said meanwhile, the rest at its end, nothing twice", async () => {
  const d = deps();
  const run = sayingMetrics(d, async () => {
    d.metrics.count("passes", 1);
    await d.clock.sleep(70_000);
    d.metrics.count("passes", 2);
  });
  await d.clock.advance(31_000);
  assert.deepEqual(
    d.said.map(({ Passes }) => Passes),
    [1],
  );
  await d.clock.advance(60_000);
  await run;
  await d.clock.advance(120_000);
  assert.deepEqual(
    d.said.map(({ Passes }) => Passes),
    [1, 0, 2],
  );
});

test("a run that fails says what it has counted", async () => {
  const d = deps();
  const run = sayingMetrics(d, async () => {
    d.metrics.count("passes_failed", 1);
    throw new Error("refused");
  });
  await assert.rejects(run, /refused/);
  assert.equal(d.said.at(-1)?.PassesFailed, 1);
});
