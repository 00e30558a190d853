import assert from "node:assert/strict";
import { test } from "node:test";
import { partitionOfTask, partitionOfTenant } from "#core/domain/ids.ts";
import { buildLoadModel, countDue, type LoadTask } from "./load-model.ts";

const FROM_MS = Date.parse("2026-03-02T08:59:00Z");
const PEAK_MS = Date.parse("2026-03-02T09:00:00Z");

function build(seed: number, scale = 1): LoadTask[] {
  const targets = ["http://127.0.0.1:1"];
  const at = { fromMs: FROM_MS, peakAtMs: PEAK_MS };
  return buildLoadModel({ seed, targets, ...at, scale, endpoints: "mixed" });
}

test("the model has the tenants, tasks, rate, peak and priorities that it promises", () => {
  const tasks = build(1);
  assert.equal(tasks.length, 50_000);
  const counts = new Map<string, number>();
  for (const { tenantId } of tasks) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1);
  assert.equal(counts.size, 1_000);
  const largest = [...counts.values()].sort((a, b) => b - a).slice(0, 10);
  near(
    share(
      largest.reduce((sum, count) => sum + count, 0),
      tasks.length,
    ),
    0.4,
  );
  const perSecond = tasks.reduce((sum, { schedule }) => {
    assert(schedule.type === "every");
    return sum + 1 / schedule.seconds;
  }, 0);
  assert(Math.abs(perSecond - 38) < 0.5, `${perSecond} a second`);
  assert.equal(tasks.filter(({ url }) => url.endsWith("/1")).length, 30_000);
  assert(tasks.every(({ url, nextRunAtMs }) => !url.endsWith("/1") || nextRunAtMs === PEAK_MS));
  for (const [rank, expected] of [0.05, 0.15, 0.6, 0.2].entries())
    near(share(tasks.filter(({ priority }) => priority === rank).length, tasks.length), expected);
  near(share(tasks.filter(({ url }) => url.includes(":9/down")).length, tasks.length), 0.03);
});

test("what is due in a window: each run inside, its start too and its end not; nothing of endpoints that are down", () => {
  const [minutely, other] = build(1);
  assert(minutely?.schedule.type === "every" && other !== undefined);
  assert.equal(minutely.schedule.seconds, 60);
  const task = {
    ...minutely,
    priority: 2,
    nextRunAtMs: FROM_MS,
    url: "http://127.0.0.1:1/ok/0/2/0",
  };
  const due = (fromMs: number, untilMs: number, tasks: readonly LoadTask[] = [task]) =>
    countDue(tasks, FROM_MS + fromMs, FROM_MS + untilMs);
  assert.deepEqual(due(0, 60_000), [0, 0, 1, 0]);
  assert.deepEqual(due(0, 60_001), [0, 0, 2, 0]);
  assert.deepEqual(due(1, 60_000), [0, 0, 0, 0]);
  assert.deepEqual(due(-90_000, 1), [0, 0, 1, 0]);
  assert.deepEqual(due(60_000, 360_000), [0, 0, 5, 0]);
  const down = { ...task, url: "http://127.0.0.1:9/down/2/0" };
  assert.deepEqual(due(0, 1, [task, down, { ...task, priority: 0 }]), [1, 0, 1, 0]);
});

test("the same seed is the same load, another one another", () => {
  assert.deepEqual(build(7, 0.01), build(7, 0.01));
  assert.notDeepEqual(build(7, 0.01), build(8, 0.01));
});

test("ids are all different and lie in their tenant's partition", () => {
  const tasks = build(3, 0.1);
  assert.equal(new Set(tasks.map(({ id }) => id)).size, tasks.length);
  for (const { id, tenantId } of tasks)
    assert.equal(partitionOfTask(id), partitionOfTenant(tenantId));
});

function share(part: number, whole: number): number {
  return part / whole;
}

function near(actual: number, expected: number): void {
  assert(Math.abs(actual - expected) < 0.01, `${actual} is not about ${expected}`);
}
