/** The load benches at sizes that say nothing about speed: they run, and their last line has the figures that they promise. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

const SCRIPT = join(import.meta.dirname, "..", "..", "bench", "run.ts");
const DEADLINE_MS = 90_000;

type Json = { readonly [name: string]: unknown };

/** Runs a scenario to its end; its figures, whatever they say. */
async function runQuick(scenario: string, ...args: string[]): Promise<Json> {
  assert(process.env.MYSQL_URL, "MYSQL_URL names a server to test with");
  const child = spawn(process.execPath, [SCRIPT, scenario, "--quick", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: DEADLINE_MS,
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  const last = stdout.trimEnd().split("\n").at(-1) ?? "";
  assert(last.startsWith("{"), `${scenario} ended with ${code}:\n${stderr}`);
  const figures = JSON.parse(last) as Json;
  assert.equal(figures.scenario, scenario);
  assert.equal(figures.pass, code === 0);
  assert.ok((figures.machine as Json).commit);
  return figures;
}

function numbers(figures: Json, ...names: string[]): void {
  for (const name of names)
    for (const value of [figures[name]].flat())
      assert(typeof value === "number" && value >= 0, `${name} is a number, not ${value}`);
}

function lagOf(figures: unknown, ...priorities: string[]): void {
  for (const priority of priorities) {
    const lag = (figures as Json)[priority] as Json;
    numbers(lag, "calls", "p50Ms", "p99Ms", "maxMs");
    assert(Number(lag.calls) > 0, `${priority} jobs were called`);
  }
}

test("p1 tells lag by priority, CPU by process, statements and memory", async () => {
  const figures = await runQuick("p1", "--seconds", "2");
  numbers(figures, "perSecond", "statementsPerJob", "executorsMib");
  numbers(figures.cpuSeconds as Json, "executors", "scheduler", "target");
  lagOf(figures.lag, "normal");
  assert.equal(figures.missing, 0, "every call that was due has come");
});

test("p2 tells jobs a second and their ratio to raw calls for each number of executors", async () => {
  const figures = await runQuick("p2");
  assert.deepEqual(figures.executors, [1, 2, 3]);
  assert.equal((figures.perSecond as unknown[]).length, 3);
  numbers(figures, "jobs", "rawPerSecond", "perSecond", "ratio", "statementsPerJob");
});

test("p2 from due tasks tells its ratio to raw calls, beside slow endpoints the ratio of more executors to one", async () => {
  const due = await runQuick("p2", "--materialise");
  numbers(due, "jobs", "perSecond", "ratio");
  const slow = await runQuick("p2", "--delay", "5");
  assert.deepEqual(slow.executors, [1, 2, 3]);
  numbers(slow, "perSecond");
});

test("p3 tells lag by priority, the drain's ratio to raw calls and the speed of more executors, of every job of the peak", async () => {
  const figures = await runQuick("p3");
  assert.deepEqual(figures.executors, [1, 2, 3]);
  numbers(figures, "drainMs", "drainToRaw", "speedToOne", "statementsPerJob");
  lagOf(figures.lag, "critical", "high", "normal", "low");
  const calls = Object.values(figures.lag as Json).map((lag) => Number((lag as Json).calls));
  assert.equal(
    calls.reduce((sum, count) => sum + count, 0),
    figures.jobs,
  );
});

test("p3 beside slow endpoints leaves raw calls out", async () => {
  const figures = await runQuick("p3", "--delay", "5", "--executors", "2");
  assert.deepEqual([figures.executors, figures.rawMs], [[2], [null, null]]);
  lagOf(figures.lag, "critical", "normal");
});

for (const [scenario, herds] of [
  ["p6", ["without", "beside"]],
  ["p7", ["without", "beside", "low", "high"]],
] as const)
  test(`${scenario} tells the others' lag with and without their neighbour`, async () => {
    const figures = await runQuick(scenario);
    const [bar] = figures.bars as [Json];
    numbers(bar, "ratioMedian", "spreadAA");
    lagOf(figures, ...herds);
  });

test("growth tells the speed beside each number of rows, as a share of the smallest's", async () => {
  const figures = await runQuick("growth");
  numbers(figures, "rows", "perSecond", "tickMs");
  numbers({ ratios: (figures.bars as Json[]).map((bar) => bar.ratioMedian) }, "ratios");
});

test("fairness tells the burst's speed, the quiet tenants' lag and the shares of two heavy tenants", async () => {
  const figures = await runQuick("fairness");
  numbers(figures, "besidePerSecond");
  numbers({ both: (figures.alonePerSecond as unknown[]).flat() }, "both");
  lagOf(figures, "quietBefore", "quiet");
  const [{ calls, burstShare }] = figures.bothWait as [{ calls: number; burstShare: number }];
  assert(calls > 0 && burstShare > 0 && burstShare <= 1, `${burstShare} of ${calls} calls`);
});
