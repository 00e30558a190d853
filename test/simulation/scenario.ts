/** What a seed stands for: how many of each process, which clocks, which faults, what the users ask for. */
import type { CatchUp } from "#core/domain/task.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Endpoint } from "./sim-endpoint.ts";
import type { NetworkFaults } from "./sim-network.ts";
import { NO_FAULTS } from "./sim-network.ts";
import type { ClockFaults } from "./sim-process.ts";

export const DISASTERS = [
  "kill",
  "kill-all-executors",
  "kill-all-schedulers",
  "terminate",
  "freeze",
  "freeze-all-executors",
  "cut-requests",
  "cut-answers",
  "database-away",
  "history-away",
  "step-clock",
  "step-database",
] as const;

export interface Disaster {
  readonly kind: (typeof DISASTERS)[number];
  readonly atMs: number;
  readonly lastsMs: number;
}

export interface Scenario {
  readonly executors: number;
  readonly schedulers: number;
  readonly reconcilers: number;
  readonly archivers: number;
  readonly users: number;
  readonly slots: number;
  readonly tasks: number;
  readonly catchUps: readonly CatchUp[];
  readonly retention: { readonly succeededMs: number; readonly endedMs: number };
  readonly faults: NetworkFaults;
  /** What history takes for an answer, at most: long enough for somebody to come in between. */
  readonly historyMs: number;
  /** What most users ask for. */
  readonly wishes: "any" | "pauses" | "runs" | "retries";
  /** Of calls: set before anything is made. */
  readonly limits: readonly {
    /** Null: of all calls of a tenant. */
    readonly endpoint: Endpoint | null;
    readonly concurrency: number | null;
    readonly perSecond: number | null;
  }[];
  /** So many jobs a pause, delete or resume reaches in one transaction; null: all, as it is with ordinary tasks. */
  readonly jobsAtOnce: number | null;
  /** One task's calls kill the executor that makes them, whatever else heals. */
  readonly poison: boolean;
  readonly disasters: readonly Disaster[];
  /** Faults stop then. */
  readonly healMs: number;
  /** Schedules end then. */
  readonly endMs: number;
  /** By how much the database's clock may have been off altogether. */
  readonly databaseStepsMs: number;
  readonly wrongClocks: boolean;
}

const PUNCTUAL_AFTER_MS = 10_000;

/**
 * After that whatever is due is on time again, as what was due before may not be: what piled up in a long outage has to be worked off
 * first, by slots that may be few.
 */
export function punctualAfterMs(disasters: readonly Disaster[]): number {
  return PUNCTUAL_AFTER_MS + Math.max(0, ...disasters.map(({ lastsMs }) => lastsMs)) / 4;
}

/**
 * An edit, a resume too, may have occurrences made once more that have a row: as long as that is kept, they meet it. So retention
 * outlasts every outage where tasks are changed, as it does in production; where it is short, tasks stay as they are.
 */
const RETENTION_MS = 200_000;

const KINDS = [
  ...Array.from({ length: 26 }, () => "usual" as const),
  ...(["calm", "long outage", "poison"] as const),
];

export function drawScenario(random: SeededRandom): Scenario {
  const kind = random.pick(KINDS);
  const healMs =
    kind === "long outage" ? random.between(66_000, 90_000) : random.between(8_000, 34_000);
  const archivesSoon = random.chance(0.5);
  const calm = kind === "calm";
  const disasters = calm ? [] : drawDisasters(random, healMs);
  if (kind === "long outage")
    disasters.push({
      kind: "kill-all-schedulers",
      atMs: random.between(1_600, 4_000),
      lastsMs: healMs,
    });
  return {
    executors: random.pick([1, 2, 2, 3, 4]),
    schedulers: random.pick([1, 2, 2]),
    reconcilers: random.pick([1, 1, 2]),
    archivers: random.pick([1, 1, 2]),
    users: random.pick([1, 2]),
    slots: random.pick([2, 4, 16]),
    tasks: random.between(2, 5),
    catchUps: random.pick([["all"], ["all", "latest", "none"]]),
    retention: archivesSoon
      ? { succeededMs: random.pick([2_000, 10_000]), endedMs: random.pick([500, 5_000]) }
      : { succeededMs: RETENTION_MS, endedMs: RETENTION_MS },
    faults: calm ? NO_FAULTS : drawFaults(random),
    historyMs: random.pick([2, 2, 4_000]),
    wishes: random.pick(archivesSoon ? ["runs", "retries"] : ["any", "any", "pauses"]),
    limits: random.chance(0.4) ? drawLimits(random) : [],
    poison: kind === "poison",
    disasters,
    healMs,
    endMs: healMs + punctualAfterMs(disasters) + random.between(2_000, 8_000),
    databaseStepsMs: disasters.filter(({ kind }) => kind === "step-database").length * 1_500,
    wrongClocks: random.chance(0.7),
    jobsAtOnce: random.pick([1, 2, null, null]),
  };
}

function drawLimits(random: SeededRandom): Scenario["limits"] {
  return Array.from({ length: random.between(1, 3) }, () => ({
    endpoint: random.pick([null, "ok", "flaky", "slow", "slow"] as const),
    concurrency: random.pick([null, 1, 1, 2, 3]),
    perSecond: random.pick([null, null, 1, 4]),
  }));
}

function drawFaults(random: SeededRandom): NetworkFaults {
  const rate = () => (random.chance(0.5) ? 0 : random.pick([0.005, 0.02, 0.06]));
  return {
    failBefore: rate(),
    failAfter: rate(),
    slow: rate(),
    lose: rate(),
    twice: rate(),
    kill: random.chance(0.4) ? random.pick([0.001, 0.004, 0.01]) : 0,
  };
}

function drawDisasters(random: SeededRandom, healMs: number): Disaster[] {
  const count = random.pick([0, 1, 2, 3, 5]);
  return Array.from({ length: count }, () => ({
    kind: random.pick(DISASTERS),
    atMs: random.between(500, healMs),
    lastsMs: random.pick([300, 2_000, 5_500, 8_000, 15_000, 40_000]) * (0.5 + random.unit()),
  }));
}

/** A clock of a machine: seconds off, and a thousandth fast or slow, which is ten times what machines are. */
export function drawClock({ wrongClocks }: Scenario, random: SeededRandom): ClockFaults {
  if (!wrongClocks) return { skewMs: 0, rate: 1, earlyMs: 0 };
  return {
    skewMs: random.between(-5_000, 5_000),
    rate: 1 + (random.unit() - 0.5) / 500,
    earlyMs: random.pick([0, 0, 2]),
  };
}
