/** Processes that die, stand still, or are replaced. */
import { seededTaskId, seededUnit, tenantNamed } from "#bench/load-model.ts";
import { countUncommitted } from "../evidence.ts";
import type { Fault, Injected, World } from "../fault.ts";
import { KINDS, type Kind } from "../fleet.ts";

const REPLACED_AFTER_MS = 5_000;
/** The dead one's lease is the oldest by then, and nobody has taken its jobs yet. */
const LEASE_OLDEST_MS = 2_500;
/** A stop that outlasts the lease, the two looks of the reconciler and what they take. */
const STOPPED_MS = 15_000;
const RESCUED_MS = 15_000;

/** Kills an executor and what else is named, then counts calls of it without a result, while nobody has taken its jobs yet. */
async function killHolder(
  world: World,
  executor: string,
  ...others: readonly string[]
): Promise<Injected> {
  const killedAtMs = await world.fleet.kill(executor);
  for (const name of others) await world.fleet.kill(name);
  await world.sleep(LEASE_OLDEST_MS);
  const uncommitted = await countUncommitted(world);
  return { brokenAtMs: killedAtMs, mendedAtMs: killedAtMs, uncommitted };
}

export const killExecutor: Fault = {
  id: "F7",
  title: "SIGKILL of an executor",
  breaks: "one of two executors killed with calls under way; another one comes 5 s later",
  limits: { recoveryMs: RESCUED_MS },
  async inject(world) {
    const death = await killHolder(world, "executor-2");
    await world.sleep(REPLACED_AFTER_MS - LEASE_OLDEST_MS);
    await world.fleet.start("executor");
    await world.sleep(RESCUED_MS);
    return death;
  },
};

export const killScheduler: Fault = {
  id: "F8",
  title: "SIGKILL of the scheduler",
  breaks: "the only scheduler killed 5 times within seconds, then away for 35 s",
  limits: { recoveryMs: 10_000, criticalP99Ms: 1_000 },
  async inject({ fleet, sleep }) {
    const brokenAtMs = Date.now();
    let name = "scheduler-1";
    for (let i = 0; i < 5; i++) {
      await fleet.kill(name);
      name = await fleet.start("scheduler");
      await sleep(1_100);
    }
    await fleet.kill(name);
    // Past the 30 s for which jobs have been made.
    await sleep(35_000);
    await fleet.start("scheduler");
    return { brokenAtMs, mendedAtMs: Date.now() };
  },
};

export const killReconciler: Fault = {
  id: "F9",
  title: "SIGKILL of the reconciler",
  breaks:
    "the only reconciler killed between its looks at a dead executor; the next one starts 5 s later",
  limits: { recoveryMs: 25_000 },
  async inject(world) {
    const death = await killHolder(world, "executor-2");
    // The lease has run out and was seen to have once.
    await world.sleep(5_500);
    await world.fleet.kill("reconciler-4");
    await world.sleep(REPLACED_AFTER_MS);
    await world.fleet.start("reconciler");
    await world.fleet.start("executor");
    await world.sleep(15_000);
    return death;
  },
};

export const stopExecutor: Fault = {
  id: "F10",
  title: "SIGSTOP of an executor",
  breaks: "one of two executors stands still for 15 s, past its lease, and goes on",
  limits: { recoveryMs: RESCUED_MS },
  async inject(world) {
    const brokenAtMs = Date.now();
    const stopped = world.fleet.named("executor-2");
    stopped.signal("SIGSTOP");
    await world.sleep(LEASE_OLDEST_MS);
    const uncommitted = await countUncommitted(world);
    await world.sleep(STOPPED_MS - LEASE_OLDEST_MS);
    stopped.signal("SIGCONT");
    return { brokenAtMs, mendedAtMs: brokenAtMs, uncommitted };
  },
};

const TWO_OF_EACH = { scheduler: 2, executor: 2, reconciler: 2, archiver: 2 } as const;

export const twoOfEach: Fault = {
  id: "F11",
  title: "two of every process",
  breaks: "two schedulers, executors, reconcilers and archivers side by side; one of each killed",
  processes: TWO_OF_EACH,
  withHistory: true,
  limits: { recoveryMs: RESCUED_MS },
  async inject(world) {
    await world.sleep(10_000);
    const others = ["scheduler-1", "reconciler-5", "archiver-7"];
    const death = await killHolder(world, "executor-3", ...others);
    await world.sleep(RESCUED_MS);
    return death;
  },
};

/** As a platform replaces what runs: the new one is there before the old one is told to stop. */
async function replaceAll({ fleet }: World): Promise<void> {
  const olds = KINDS.flatMap((kind): (readonly [Kind, string])[] =>
    fleet.names(kind).map((name) => [kind, name]),
  );
  for (const [kind, name] of olds) {
    await fleet.start(kind);
    await fleet.stop(name);
  }
}

export const rollingReplacement: Fault = {
  id: "F12",
  title: "rolling replacement",
  breaks:
    "every process replaced by SIGTERM, one after the other, again and again through a peak of 2,000",
  processes: { scheduler: 1, executor: 2, reconciler: 1, archiver: 1 },
  withHistory: true,
  peakTasks: 2_000,
  limits: { criticalP99Ms: 1_000 },
  async inject(world) {
    const brokenAtMs = Date.now();
    const untilMs = (world.peakAtMs ?? 0) + 10_000;
    let rounds = 0;
    for (; Date.now() < untilMs; rounds++) await replaceAll(world);
    return { brokenAtMs, mendedAtMs: Date.now(), notes: `${rounds} rounds` };
  },
};

const LONG_CALLS = 5;
const LONG_TIMEOUT_MS = 300_000;
/** What a drain gives calls that are under way. */
const DRAIN_CALLS_MS = 100_000;

export const longCalls: Fault = {
  id: "F13",
  title: "SIGTERM with calls of more than 100 s",
  breaks: "both executors replaced by SIGTERM while five calls are not answered",
  perSecond: 10,
  limits: { criticalP99Ms: 1_000 },
  isOwn: (url) => url.includes("/hang/"),
  async inject(world) {
    const { fleet, sink, database, load, sleep } = world;
    const unit = seededUnit(Date.now());
    const atMs = Date.now() + 3_000;
    const tenantId = tenantNamed("long-calls");
    await load.add(
      database,
      Array.from({ length: LONG_CALLS }, () => ({
        id: seededTaskId(tenantId, atMs, unit),
        tenantId,
        priority: 2,
        schedule: { type: "every", seconds: 86_400, anchor: new Date(atMs).toISOString() },
        nextRunAtMs: atMs,
        url: `${sink.url}/hang/long`,
        timeoutMs: LONG_TIMEOUT_MS,
      })),
    );
    const longCallsSeen = () => sink.calls().filter(({ path }) => path.startsWith("/hang/")).length;
    await sink.until(() => longCallsSeen() === LONG_CALLS, 30_000);
    const brokenAtMs = Date.now();
    const olds = fleet.names("executor");
    for (let i = 0; i < olds.length; i++) await fleet.start("executor");
    const drains = Promise.all(olds.map((name) => fleet.stop(name)));
    await drains;
    const drainedMs = Date.now() - brokenAtMs;
    await sink.until(() => longCallsSeen() === 2 * LONG_CALLS, 60_000);
    sink.letGo();
    await sleep(1_000);
    const notes = `drained in ${Math.round(drainedMs / 1_000)} s`;
    return { brokenAtMs, mendedAtMs: Date.now(), uncommitted: LONG_CALLS, notes };
  },
  async check(_world, { expected, jobs, brokenAtMs, mendedAtMs }) {
    const problems = mendedAtMs - brokenAtMs < DRAIN_CALLS_MS ? ["given back too early"] : [];
    for (const { id, url } of expected) {
      const job = jobs.get(id);
      if (!url.includes("/hang/") || job === undefined) continue;
      const errors = Object.values(job.attempts).map(({ error }) => error);
      if (errors[0] !== "interrupted" || job.status !== "succeeded" || job.lost !== 1)
        problems.push(`${id}: ${job.status}, lost ${job.lost}, ${errors.join(", ")}`);
    }
    return problems;
  },
};
