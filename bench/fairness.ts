/**
 * fairness: 50,000 jobs of one tenant due at one instant. Alone; beside 200 tenants with one a second each; alone again, which tells
 * what the machine's noise is; beside a tenant that all the time brings 80 % of what was done alone. Endpoints answer at once.
 *
 * Tasks go the whole way, because whoever makes a job chooses its lane. The same workers run all legs, the first of which is their
 * warm-up. Legs are so far apart that lanes have forgotten the one before.
 */
import { assert } from "#core/domain/assert.ts";
import {
  BURST,
  burstSpeed,
  judge,
  QUIET,
  type Round,
  STEADY,
  whileBothWait,
} from "./fairness/judge.ts";
import { sum } from "./figures.ts";
import { sleepUntil, startTarget, startWorkers, type Target, waitUntil } from "./fleet.ts";
import { insertTasks, instantSql } from "./insert-tasks.ts";
import { lagsByPriority } from "./lag.ts";
import { seededUnit } from "./load-model.ts";
import { type Herd, type HerdLags, tasksOf } from "./neighbours.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { giveSigningSecrets } from "./signing-secrets.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";

const ROUNDS = 3;
const STEADY_PART = 0.8;
/** Tasks: the steady tenant's are enough for as long as the burst lasts where both get half. */
const USUAL = { burst: 50_000, quiet: 200, steady: 120_000, aheadMs: 40_000, leadMs: 3_000 };
const QUICK = { burst: 1_000, quiet: 20, steady: 2_400, aheadMs: 2_500, leadMs: 100 };
const DAY_SECONDS = 86_400;
const DRAIN_MS = 600_000;

export const scenario: Scenario = {
  question: "whether a burst of one tenant and others each get their share, and all of it is done",
  takes: ["quick", "rounds", "seed", "executors"],
  run: runFairness,
};

interface Bench {
  readonly databases: BenchDatabases;
  readonly target: Target;
  readonly size: typeof USUAL;
  /** When tasks are due that have no turn: in a day, and so are they again after a turn. */
  readonly laterMs: number;
  readonly context: ScenarioContext;
}

async function runFairness(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, options } = context;
  await using databases = await openBenchDatabases("fairness", context);
  await using target = await startTarget();
  const size = options.quick ? QUICK : USUAL;
  const laterMs = (Math.floor(Date.now() / 1_000) + DAY_SECONDS) * 1_000;
  const bench = { databases, target, size, laterMs, context };
  await insertHerds(bench);
  const executors = options.executors ?? 1;
  await using _workers = await startWorkers(databases, { schedulers: 1, executors });
  await runLeg(bench);
  const rounds: Round[] = [];
  const count = options.rounds ?? (options.quick ? 1 : ROUNDS);
  for (let round = 1; round <= count; round++) {
    say(`round ${round} of ${count}`);
    const before = await runLeg(bench);
    const quiet = await runLeg(bench, "quiet");
    const after = await runLeg(bench);
    const alone = [before.perSecond, after.perSecond] as const;
    const steady = await runLeg(bench, "steady", (STEADY_PART * sum(alone)) / 2);
    rounds.push({
      alone,
      beside: quiet.perSecond,
      quietBefore: quietLags(size.quiet, quiet, quiet.atMs - size.leadMs, quiet.atMs),
      quiet: quietLags(size.quiet, quiet, quiet.atMs, quiet.endMs),
      heavy: whileBothWait(steady.calls),
    });
  }
  const { burst, quiet: quietTenants, steady } = size;
  return judge(rounds, { seed: options.seed, executors, burst, quietTenants, steady });
}

type Leg = Awaited<ReturnType<typeof runLeg>>;

/** The burst, and one of the herds from `leadMs` before it on: until it is done, or its tasks are. */
async function runLeg(bench: Bench, beside?: "quiet" | "steady", perSecond?: number) {
  const { target, size, laterMs, context } = bench;
  const { run } = bench.databases;
  const { say, signal } = context;
  const atMs = Math.ceil((Date.now() + size.aheadMs) / 1_000) * 1_000;
  await target.reset();
  if (beside !== undefined) await setDue(bench, beside, atMs - size.leadMs, perSecond);
  await setDue(bench, "burst", atMs);
  await sleepUntil(atMs - 500, signal);
  const [made] = await run(`SELECT COUNT(*) AS n FROM jobs WHERE tenant_id = 'burst-0'`);
  const arrived = await target.arrived(BURST, size.burst, DRAIN_MS, signal);
  assert(arrived, `${size.burst} calls within ${DRAIN_MS} ms`);
  const { endMs, perSecond: speed } = burstSpeed(await target.calls(), atMs);
  const ofQuiet = "tenant_id LIKE 'quiet-%'";
  await run(`UPDATE tasks SET next_run_at = ${instantSql(laterMs)} WHERE ${ofQuiet}`);
  const beyond = `scheduled_at > ${instantSql(endMs)} AND ${ofQuiet}`;
  await run(`DELETE FROM jobs WHERE status = 'pending' AND ${beyond}`);
  const left = `SELECT 1 FROM jobs FORCE INDEX (queue) WHERE status IN ('pending', 'running') LIMIT 1`;
  const recorded = async () => (await run(left)).length === 0;
  assert(await waitUntil(recorded, DRAIN_MS, signal), "every result is written");
  await run("TRUNCATE TABLE jobs");
  const took = `${endMs - atMs} ms, ${speed.toFixed(0)} calls/s`;
  say(`burst, ${made?.n} made ahead, beside ${beside ?? "nothing"}: ${took}`);
  return { atMs, endMs, perSecond: speed, calls: await target.calls() };
}

/** Gives a herd a turn from an instant on; of one whose tasks are apart, so many a second. */
async function setDue(
  { databases, laterMs }: Bench,
  herd: "burst" | "quiet" | "steady",
  fromMs: number,
  perSecond = 1_000,
): Promise<void> {
  const apart = `TIMESTAMPDIFF(MICROSECOND, ${instantSql(laterMs)}, next_run_at)`;
  await databases.run(
    `UPDATE tasks SET next_run_at = ${instantSql(fromMs)} + INTERVAL ${apart} * ${1_000 / perSecond} MICROSECOND WHERE tenant_id LIKE '${herd}-%'`,
  );
}

async function insertHerds({ databases, target, size, laterMs, context }: Bench): Promise<void> {
  const { burst, quiet, steady } = size;
  const each = { priority: "normal", endpoint: "ok/0", timeoutMs: 10_000 } as const;
  const once = { ...each, tenants: 1, seconds: DAY_SECONDS };
  const herds: Herd[] = [
    { ...once, name: "burst", group: BURST, tasks: burst },
    { ...each, name: "quiet", group: QUIET, tenants: quiet, tasks: 1, seconds: 1 },
    { ...once, name: "steady", group: STEADY, tasks: steady, stepMs: 1 },
  ];
  const unit = seededUnit(context.options.seed);
  const tasks = herds.flatMap((herd) => tasksOf(herd, target.url, laterMs, unit));
  context.say(`inserting ${tasks.length} tasks`);
  await insertTasks(databases, tasks);
  await giveSigningSecrets(databases, tasks);
}

/** Of the runs from an instant (inclusive) to another (exclusive); one that has not come counts as late as can be. */
function quietLags(tenants: number, { calls }: Leg, fromMs: number, untilMs: number): HerdLags {
  const came = lagsByPriority(calls, { group: QUIET, fromMs, untilMs }).flat();
  const missing = Math.max(0, tenants * Math.ceil((untilMs - fromMs) / 1_000) - came.length);
  return { lagsMs: [...came, ...Array<number>(missing).fill(untilMs - fromMs)], missing };
}
