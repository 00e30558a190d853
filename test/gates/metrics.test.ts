/** The list of metrics is what the services count: no more, or an alarm waits for what never comes; no less, or it is not told. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { COUNTERS, GAUGES, METRIC_SERVICES, type MetricService } from "#core/ports/metrics.ts";

const ROOT = resolve(import.meta.dirname, "..", "..");
const LIST = [...Object.entries(COUNTERS), ...Object.entries(GAUGES)];

/** All code that runs in a service and nowhere else, and what all workers or all functions on a schedule share. */
function sourceOf(service: MetricService): string {
  const isWorker = globSync(`workers/${service}`, { cwd: ROOT }).length > 0;
  const rooms = [`core/services/${service}`, `functions/${service}`, `workers/${service}`];
  const shared = isWorker ? "workers/_shared/**/*.ts" : "functions/_shared/connect-tick.ts";
  const files = [...rooms.map((room) => `${room}/**/*.ts`), shared]
    .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
    .filter((file) => !file.endsWith(".test.ts"));
  assert.ok(files.length >= 3, service);
  return files.map((file) => readFileSync(resolve(ROOT, file), "utf8")).join("\n");
}

for (const service of METRIC_SERVICES)
  test(`${service}: what it is said to report it counts, and nothing else`, () => {
    const source = sourceOf(service);
    const listed = LIST.filter(([, { services }]) =>
      (services as readonly MetricService[]).includes(service),
    );
    const expected = listed.map(([key]) => key).toSorted();
    const named = LIST.map(([key]) => key)
      .filter((key) => source.includes(`"${key}"`))
      .toSorted();
    assert.deepEqual(named, expected);
    assert.ok(expected.length >= 5);
  });
