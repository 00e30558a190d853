/** Many lines that wait: none keeps another from its turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { LINE_HELD_MAX, LINES_HELD_MAX } from "#core/domain/limits.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import { addJob, keyOf, openWorld } from "#test/support/limited-world.ts";

const OTHER = "other" as TenantId;
const URL = "https://b.example.com";

for (const [lines, priorities] of [
  [150, 1],
  [60, 4],
] as const)
  test(`${lines} lines of one tenant wait, in ${priorities} queues each: another's is served at once`, async () => {
    const world = openWorld();
    const { clock, limits, endpoints } = world;
    const urls = Array.from({ length: lines }, (_, i) => `https://w${i}.example.com`);
    for (const url of urls) await limits.put(keyOf(url), { perSecond: 0.1 });
    const key = endpointKey(OTHER, URL) as LimitKey;
    await limits.put(key, { concurrency: 5 });
    await clock.advance(1_000);
    for (const url of urls)
      for (const priority of PRIORITIES.slice(0, priorities))
        for (let i = 0; i < 3; i++) addJob(world, url, keyOf(url), { priority });
    await clock.advance(3_000);
    for (let i = 0; i < 5; i++)
      addJob(world, URL, key, { tenantId: OTHER, priority: PRIORITIES.at(-1) });
    await clock.advance(1_500);
    assert.equal(endpoints.starts.get(URL)?.length, 5);
    const slow = urls.map((url) => endpoints.starts.get(url)?.length ?? 0);
    assert.deepEqual([Math.min(...slow), Math.max(...slow)], [1, 1], "each has had its first call");
    await world.end();
  });

test("more jobs than an executor holds wait in one tenant's wide lines, whose calls hang: no more are held, another's is served at once", async () => {
  const world = openWorld({ callMs: ({ url }) => (url === `${URL}/hook` ? 10 : 890_000) });
  const { clock, limits, endpoints, executors } = world;
  const key = endpointKey(OTHER, URL) as LimitKey;
  await limits.put(key, { concurrency: 5 });
  const urls = Array.from({ length: 12 }, (_, i) => `https://w${i}.example.com`);
  for (const url of urls) await limits.put(keyOf(url), { concurrency: 1_000 });
  await clock.advance(1_000);
  for (const url of urls)
    for (let i = 0; i < 500; i++) addJob(world, url, keyOf(url), { timeoutMs: 900_000 });
  await clock.advance(450);
  const { held, sending } = executors[0]?.executor.load ?? { held: 0, sending: 0 };
  assert.ok(held - sending <= LINES_HELD_MAX, `${held} held`);
  for (let i = 0; i < 5; i++) addJob(world, URL, key, { tenantId: OTHER });
  await clock.advance(1_500);
  assert.equal(endpoints.starts.get(URL)?.length, 5);
  await world.end();
});

test("a wide limit is used up where slots allow it, although fewer jobs wait in hand", async () => {
  const most = LINE_HELD_MAX + 100;
  const world = openWorld({ slots: most + 50, callMs: () => 20_000 });
  const { clock, limits, endpoints } = world;
  const key = endpointKey(OTHER, URL) as LimitKey;
  await limits.put(key, { concurrency: most });
  await clock.advance(1_000);
  for (let i = 0; i < most + 50; i++) addJob(world, URL, key, { tenantId: OTHER });
  await clock.advance(5_000);
  assert.equal(endpoints.open.get(URL), most);
  await world.end();
});
