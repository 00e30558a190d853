/** The scheduler away for ten minutes: what was missed runs, and nobody who is due now waits for it. */
import { quantile } from "#bench/figures.ts";
import { type LoadTask, seededTaskId, seededUnit, tenantNamed } from "#bench/load-model.ts";
import type { Fault } from "../fault.ts";

const MISSED_MS = 600_000;
const EVERY_SECONDS = 60;
const TASKS = 300;
const CAUGHT_UP_MS = 120_000;
const LOOK_EVERY_MS = 250;
const CRITICAL_P99_MS = 1_000;

/**
 * The ten minutes are not waited for: while no scheduler runs, tasks are put in as such a time leaves them, their next run ten
 * minutes ago.
 */
export const catchUp: Fault = {
  id: "F23",
  title: "scheduler away for ten minutes",
  breaks: `no scheduler; ${TASKS} tasks of every minute whose next run is ten minutes ago (back-dated in the database)`,
  limits: {},
  isOwn: (url) => url.includes("/missed"),
  async inject({ fleet, database, load, sink, sleep }) {
    const brokenAtMs = await fleet.kill("scheduler-1");
    const unit = seededUnit(brokenAtMs);
    const fromMs = Math.floor(brokenAtMs / 1_000) * 1_000 - MISSED_MS;
    const tasks = Array.from({ length: TASKS }, (_, i): LoadTask => {
      const tenantId = tenantNamed(`away-${i % 30}`);
      const nextRunAtMs = fromMs + (i % EVERY_SECONDS) * 1_000;
      const anchor = new Date(nextRunAtMs).toISOString();
      return {
        id: seededTaskId(tenantId, fromMs, unit),
        tenantId,
        priority: i % 4,
        schedule: { type: "every", seconds: EVERY_SECONDS, anchor },
        nextRunAtMs,
        url: `${sink.url}/ok/missed`,
        timeoutMs: 10_000,
      };
    });
    await load.add(database, tasks);
    await fleet.start("scheduler");
    const mendedAtMs = Date.now();
    const missed = load
      .expected(mendedAtMs)
      .filter(({ url }) => url.endsWith("/missed"))
      .map(({ id }) => id as string);
    const endMs = performance.now() + CAUGHT_UP_MS;
    const called = () => {
      const keys = new Set(sink.calls().map(({ key }) => key));
      return missed.every((id) => keys.has(id));
    };
    while (!called() && performance.now() < endMs) await sleep(LOOK_EVERY_MS);
    const caughtUpS = ((Date.now() - mendedAtMs) / 1_000).toFixed(1);
    await sleep(5_000);
    const notes = `${missed.length} missed runs made up in ${caughtUpS} s`;
    return { brokenAtMs, mendedAtMs, notes };
  },
  async check(_world, { expected, jobs, calls, mendedAtMs }) {
    const problems: string[] = [];
    for (const { id, url } of expected)
      if (url.includes("/missed") && jobs.get(id)?.status !== "succeeded")
        problems.push(`${id} did not run`);
    const critical = expected
      .filter(({ priority, scheduledAtMs }) => priority === 0 && scheduledAtMs > mendedAtMs)
      .map(({ id, scheduledAtMs }) => (calls.get(id)?.[0]?.arrivedAtMs ?? 0) - scheduledAtMs);
    const p99Ms = quantile(critical, 0.99);
    return p99Ms < CRITICAL_P99_MS
      ? problems.slice(0, 3)
      : [...problems.slice(0, 3), `newly due critical jobs: p99 ${p99Ms} ms`];
  },
};
