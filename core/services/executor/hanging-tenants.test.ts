/** Several tenants whose calls hang, far more of them than memory may hold: what others see of it, and what becomes of their jobs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Priority } from "#core/domain/queue.ts";
import { addJob, endWorld, jobOf, openWorld } from "#test/support/executor-world.ts";
import * as limited from "#test/support/limited-world.ts";

const SLOTS = 64;

/** Tenants whose calls last `callMs` have `jobs` each; then quiet ones have twenty a second for a while. */
async function runBeside(
  hanging: { tenants: number; jobs: number; priority: Priority; callMs: number },
  priority: Priority,
) {
  const quick = new Map<string, number>();
  const world = openWorld({
    slots: SLOTS,
    endpoint: ({ headers }) => ({
      status: 200,
      afterMs: quick.has(String(headers["idempotency-key"])) ? 10 : hanging.callMs,
    }),
  });
  const { clock, tables, sent, executor } = world;
  await clock.advance(500);
  const ids = Array.from({ length: hanging.tenants * hanging.jobs }, (_, i) =>
    addJob(tables, 0, {
      tenantId: `hanging-${i % hanging.tenants}` as TenantId,
      priority: hanging.priority,
      timeoutMs: 600_000,
    }),
  );
  await clock.advance(4_000);
  let mostHeld = 0;
  for (let i = 0; i < 200; i++) {
    const tenantId = `quiet-${i % 50}` as TenantId;
    quick.set(addJob(tables, 0, { tenantId, priority }), clock.nowMs());
    await clock.advance(50);
    mostHeld = Math.max(mostHeld, executor.load.held);
  }
  await clock.advance(1_000);
  const lagsMs = sent
    .flatMap(({ headers, atMs }) => {
      const addedMs = quick.get(String(headers["idempotency-key"]));
      return addedMs === undefined ? [] : [atMs - addedMs];
    })
    .sort((a, b) => a - b);
  const jobs = ids.map((id: JobId) => jobOf(tables, id));
  const { sending } = executor.load;
  await endWorld(world);
  return { lagsMs, mostHeld, jobs, sending };
}

for (const [tenants, of, priority] of [
  [1, "critical", "high"],
  [5, "critical", "low"],
  [5, "critical", "critical"],
  [3, "normal", "high"],
  [6, "normal", "normal"],
] as const)
  for (const callMs of [25_000, 290_000])
    test(`${tenants} tenants' ${of} calls of ${callMs / 1_000} s hang: ${priority} jobs of others are claimed and sent at the next poll`, async () => {
      const hanging = { tenants, jobs: 2_000 / tenants, priority: of, callMs };
      const { lagsMs, mostHeld, jobs, sending } = await runBeside(hanging, priority);
      assert.equal(lagsMs.length, 200);
      const p99 = lagsMs[197] ?? Number.POSITIVE_INFINITY;
      assert.ok(p99 < 1_000, `p99 ${p99} ms`);
      assert.ok(mostHeld <= 12 * SLOTS, `${mostHeld} in memory`);
      assert.ok(sending >= SLOTS, "no slot is left unused");
      for (const { status, attempt, lost } of jobs)
        assert.deepEqual([attempt, lost], [status === "pending" ? 0 : 1, 0]);
    });

test("calls of several tenants last a second: what was put off comes back in time for the slots", async () => {
  const world = openWorld({ slots: 16, endpoint: () => ({ status: 200, afterMs: 1_000 }) });
  const { clock, tables, sent } = world;
  for (let i = 0; i < 1_600; i++) addJob(tables, 0, { tenantId: `slow-${i % 4}` as TenantId });
  await clock.advance(115_000);
  assert.equal(sent.length, 1_600, "sixteen a second are 100 s");
  await endWorld(world);
});

for (const limit of [{ concurrency: 300 }, { perSecond: 1_000 }])
  test(`a tenant whose endpoint hangs has a wide limit there, ${JSON.stringify(limit)}: others' jobs are claimed and sent`, async () => {
    const { SLOW, FREE, TENANT, keyOf, jobsWhere } = limited;
    const world = limited.openWorld({
      slots: SLOTS,
      callMs: ({ url }) => (url.startsWith(SLOW) ? 890_000 : 10),
    });
    const { clock, limits, endpoints } = world;
    await limits.put(keyOf(SLOW), limit);
    await clock.advance(1_000);
    for (let i = 0; i < 1_000; i++) limited.addJob(world, SLOW, keyOf(SLOW), { tenantId: TENANT });
    await clock.advance(8_000);
    for (let i = 0; i < 20; i++) {
      const tenantId = `quiet-${i}` as TenantId;
      limited.addJob(world, FREE, null, { tenantId, priority: "high" });
      await clock.advance(300);
      assert.equal(endpoints.starts.get(FREE)?.length, i + 1);
    }
    assert.equal(endpoints.open.get(SLOW), SLOTS, "alone it has all slots");
    assert.equal(jobsWhere(world, "dead"), 0);
    await world.end();
  });
