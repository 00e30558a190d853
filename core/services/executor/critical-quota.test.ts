/**
 * A tenant that marks everything critical, beside tenants that have few critical jobs: a scheduler and an executor in one world, time
 * moved by hand. The same on a real database, with real calls: test/e2e/critical-quota.test.ts.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import { addTask, endWorld, jobOf, openWorld, RETENTION } from "#test/support/executor-world.ts";
import { Scheduler } from "../scheduler/scheduler.ts";

const QUIET_TENANTS = 50;
const QUIET_MS = 20_000;

type World = ReturnType<typeof openWorld>;

/** Ticks until the world ends, as the scheduler's process does. */
async function tick({ clock, shard, stop }: World): Promise<void> {
  const metrics = { count: () => {}, observeLagMs: () => {} };
  const scheduler = new Scheduler({ tasks: shard.tasks, clock, metrics, retention: RETENTION });
  while (!stop.signal.aborted) await clock.sleep(await scheduler.tickOnce(), stop.signal);
}

interface Storm {
  readonly tenants: number;
  /** Of each. */
  readonly jobs: number;
  /** How long its calls last. */
  readonly callMs: number;
}

/** The storm's jobs are due at once, three seconds after the quiet tenants' first. */
function addTasks({ clock, tables }: World, storm: Storm): void {
  const startMs = Math.ceil(clock.nowMs() / 1_000) * 1_000 + 1_000;
  const anchor = new Date(startMs).toISOString();
  const atMs = startMs + 3_000;
  const once = { type: "at" as const, at: new Date(atMs).toISOString() };
  for (let i = 0; i < storm.tenants * storm.jobs; i++) {
    const tenantId = `storm-${i % storm.tenants}` as TenantId;
    const task = { tenantId, schedule: once, nextRunAtMs: atMs };
    addTask(tables, { ...task, priority: "critical" });
  }
  for (let i = 0; i < QUIET_TENANTS; i++)
    addTask(tables, {
      tenantId: `quiet-${i}` as TenantId,
      schedule: { type: "every", seconds: 1, anchor },
      nextRunAtMs: startMs,
      endAtMs: startMs + QUIET_MS,
      priority: "critical",
    });
}

for (const [name, storm] of [
  ["one tenant has 5,000 critical jobs due, of ten seconds", { jobs: 5_000, callMs: 10_000 }],
  ["one tenant has 5,000 critical jobs due, of half a second", { jobs: 5_000, callMs: 500 }],
  ["one tenant has 5,000 short critical jobs due", { jobs: 5_000, callMs: 4 }],
  ["eight tenants have 1,000 critical jobs due", { tenants: 8, jobs: 1_000, callMs: 10_000 }],
] as const)
  test(`${name}: those of 50 others, one a second each, start in time`, async () => {
    const isQuiet = (id: unknown) => jobOf(world.tables, id as JobId).tenantId.startsWith("quiet");
    const world = openWorld({
      slots: 64,
      endpoint: ({ headers }) => ({
        status: 200,
        afterMs: isQuiet(headers["idempotency-key"]) ? 20 : storm.callMs,
      }),
    });
    addTasks(world, { tenants: 1, ...storm });
    const ticking = tick(world);
    await world.clock.advance(QUIET_MS + 5_000);
    const calls = world.sent.map(({ headers, atMs }) => ({
      job: jobOf(world.tables, headers["idempotency-key"] as JobId),
      atMs,
    }));
    const lags = calls
      .filter(({ job }) => isQuiet(job.id))
      .map(({ job, atMs }) => atMs - job.scheduledAtMs)
      .sort((a, b) => a - b);
    assert.equal(lags.length, (QUIET_TENANTS * QUIET_MS) / 1_000);
    const p99Ms = lags[Math.floor(lags.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    assert.ok(p99Ms < 300, `p99 ${p99Ms} ms, worst ${lags.at(-1)} ms`);
    await endWorld(world);
    await ticking;
  });
