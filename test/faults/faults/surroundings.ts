/** What the processes live in: clocks, disks, and tasks that are bad for them. */
import { join } from "node:path";
import { seededTaskId, seededUnit, tenantNamed } from "#bench/load-model.ts";
import { REASON_LOST } from "#core/domain/job.ts";
import { LOST_MAX } from "#core/domain/limits.ts";
import type { Fault } from "../fault.ts";

const PRELOADS = join(import.meta.dirname, "..", "preload");
const preload = (file: string) => `--import=${join(PRELOADS, file)}`;

/** By process, seconds. */
const SKEWS: Readonly<Record<string, number>> = {
  "scheduler-1": 300,
  "executor-2": 90,
  "executor-3": -90,
  "reconciler-4": 3_600,
};

export const clockSkew: Fault = {
  id: "F19",
  title: "clocks that are wrong",
  breaks: "scheduler 5 min ahead, executors 90 s ahead and behind, reconciler 1 h ahead, all along",
  env: (_kind, name) => ({
    NODE_OPTIONS: preload("shift-date.ts"),
    SHIFT_DATE_MS: String((SKEWS[name] ?? 0) * 1_000),
  }),
  limits: { recoveryMs: 0, criticalP99Ms: 1_000 },
  async inject({ sleep }) {
    const brokenAtMs = Date.now();
    await sleep(25_000);
    return { brokenAtMs, mendedAtMs: Date.now() };
  },
};

export const fullDisk: Fault = {
  id: "F20",
  title: "no room for logs",
  breaks: "every process writes its log to a disk that is full, and MySQL is out of reach for 5 s",
  output: "full-disk",
  proxied: () => true,
  limits: { recoveryMs: 10_000 },
  inject: outOfReach,
};

export const closedLogs: Fault = {
  id: "F21",
  title: "nobody reads the logs",
  breaks: "the pipe that every process logs to is closed, and MySQL is out of reach for 5 s",
  output: "closed",
  proxied: () => true,
  limits: { recoveryMs: 10_000 },
  inject: outOfReach,
};

/** Something to say for everybody. */
async function outOfReach({ proxy, sleep }: Parameters<Fault["inject"]>[0]) {
  const brokenAtMs = Date.now();
  await proxy.refuse(true);
  proxy.resetAll();
  await sleep(5_000);
  await proxy.refuse(false);
  const mendedAtMs = Date.now();
  await sleep(5_000);
  return { brokenAtMs, mendedAtMs };
}

const POISONED_MS = 180_000;

export const poison: Fault = {
  id: "F22",
  title: "poison task",
  breaks:
    "a task whose call kills the executor that makes it, every time; the executor is started again",
  perSecond: 20,
  env: (kind) => (kind === "executor" ? { NODE_OPTIONS: preload("die-at-poison.ts") } : {}),
  limits: {},
  isOwn: (url) => url.includes("/poison"),
  async inject({ fleet, sink, database, load, sleep }) {
    const tenantId = tenantNamed("poison");
    const atMs = Date.now() + 3_000;
    await load.add(database, [
      {
        id: seededTaskId(tenantId, atMs, seededUnit(atMs)),
        tenantId,
        priority: 1,
        schedule: { type: "every", seconds: 86_400, anchor: new Date(atMs).toISOString() },
        nextRunAtMs: atMs,
        url: `${sink.url}/poison`,
        timeoutMs: 10_000,
      },
    ]);
    const brokenAtMs = Date.now();
    let deaths = 0;
    let uncommitted = 0;
    while (deaths < LOST_MAX) {
      await fleet.oneEnds("executor", POISONED_MS);
      deaths++;
      // What it had under way beside the poison may be called again: as many as there were calls without a result.
      uncommitted += await openCalls();
      await fleet.start("executor");
    }
    await sleep(15_000);
    return { brokenAtMs, mendedAtMs: Date.now(), uncommitted, notes: `${deaths} executors died` };
    async function openCalls(): Promise<number> {
      const [row] = await database.run(
        "SELECT COUNT(*) AS n FROM jobs WHERE status = 'running' AND run_at <= UTC_TIMESTAMP(3)",
      );
      return Number(row?.n);
    }
  },
  check: async (_world, { expected, jobs, calls }) => {
    const poisoned = expected.filter(({ url }) => url.includes("/poison"));
    return poisoned.flatMap(({ id }) => {
      const job = jobs.get(id);
      const called = calls.get(id)?.length ?? 0;
      return job?.status === "dead" && job.reason === REASON_LOST && job.lost === LOST_MAX
        ? []
        : [`${id}: ${job?.status}, ${job?.reason}, lost ${job?.lost}, called ${called} times`];
    });
  },
};
