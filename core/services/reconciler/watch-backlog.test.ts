import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import { MEASURE_PERIOD_MS } from "#core/domain/limits.ts";
import { PRIORITIES, type Priority } from "#core/domain/queue.ts";
import type { Backlog } from "#core/ports/backlog-store.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { noteBacklog, watchBacklog } from "./watch-backlog.ts";

const NOW_MS = 1_800_000_000_000;

function backlog(changes: Partial<Backlog> = {}): Backlog {
  const none = { due: 0, oldestDueAtMs: null, unmadeSinceMs: null };
  const priorities = new Map(PRIORITIES.map((priority) => [priority, none]));
  return { nowMs: NOW_MS, priorities, dueSoon: 0, limitsWaiting: 0, liveWorkers: 0, ...changes };
}

function levels() {
  const read: Record<string, number[]> = {};
  const add = (name: string, value: number) => {
    read[name] = [...(read[name] ?? []), value];
  };
  return {
    read,
    gauge: add,
    gaugeOf: (name: string, priority: Priority, value: number) => add(`${name} ${priority}`, value),
  };
}

test("a look becomes levels: ages in seconds, 0 where nothing waits, what is due soon for each executor", () => {
  const gauges = levels();
  const { priorities } = backlog();
  const waits = { due: 7, oldestDueAtMs: NOW_MS - 1_500, unmadeSinceMs: NOW_MS - 400 };
  noteBacklog(
    backlog({
      priorities: new Map([...priorities, ["high", waits]]),
      dueSoon: 90,
      limitsWaiting: 4,
      liveWorkers: 2,
    }),
    gauges,
  );
  assert.deepEqual([gauges.read["backlog high"], gauges.read["backlog low"]], [[7], [0]]);
  assert.deepEqual(gauges.read["oldest_due_age high"], [1.5]);
  assert.deepEqual(gauges.read["oldest_due_age low"], [0]);
  assert.deepEqual(gauges.read["materialize_behind high"], [0.4]);
  assert.deepEqual(gauges.read.due_soon, [90]);
  assert.deepEqual(gauges.read.due_soon_per_executor, [45]);
  assert.deepEqual(gauges.read.live_executors, [2]);
  assert.deepEqual(gauges.read.limits_waiting, [4]);
});

test("without an executor everything that is due soon is for the next one", () => {
  const gauges = levels();
  noteBacklog(backlog({ dueSoon: 30 }), gauges);
  assert.deepEqual(gauges.read.due_soon_per_executor, [30]);
});

test("measured at once and in steps until the end; while the database is away it is said once and there are no figures", async () => {
  const clock = new ManualClock();
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const gauges = levels();
  let looks = 0;
  const measure = async () => {
    looks++;
    if (looks === 2 || looks === 3) throw new StoreUnavailable("MySQL does not answer");
    return backlog({ liveWorkers: looks });
  };
  const deps = {
    shard: { name: "0", backlog: { measure } },
    clock,
    logger: { info: say, warn: say, error: say },
    gauges,
  };
  const measured = watchBacklog(deps, clock.monotonicMs() + 4.5 * MEASURE_PERIOD_MS);
  await clock.advance(10 * MEASURE_PERIOD_MS);
  assert.equal(await measured, 3);
  assert.deepEqual(gauges.read.live_executors, [1, 4, 5]);
  assert.equal(said.length, 1);
});

test("an error that no later look could do better ends it", async () => {
  const clock = new ManualClock();
  const say = () => {};
  const measure = async () => {
    throw new StoreRefused("no such table");
  };
  const deps = {
    shard: { name: "0", backlog: { measure } },
    clock,
    logger: { info: say, warn: say, error: say },
    gauges: levels(),
  };
  await assert.rejects(watchBacklog(deps, clock.monotonicMs() + 1), StoreRefused);
});

test("executors are scaled to the most that any stage has, whatever waits: the count does not end before", async () => {
  const [pending, target, executorsMax] = [1_000_000, 2_000, 40];
  let executors = 2;
  for (let step = 0; step < 10; step++) {
    const gauges = levels();
    const clock = new ManualClock();
    const measure = async (_countedMax: number, _soonMs: number, soonCountedMax: number) =>
      backlog({ dueSoon: Math.min(pending, soonCountedMax), liveWorkers: executors });
    const say = () => {};
    await watchBacklog(
      {
        shard: { name: "0", backlog: { measure } },
        clock,
        logger: { info: say, warn: say, error: say },
        gauges,
      },
      clock.monotonicMs() + 1,
    );
    // As target tracking reckons.
    const [perExecutor = 0] = gauges.read.due_soon_per_executor ?? [];
    executors = Math.min(executorsMax, Math.ceil((executors * perExecutor) / target));
  }
  assert.equal(executors, executorsMax);
});
