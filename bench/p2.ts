/**
 * p2: capacity, end to end. Jobs that are due at once are drained — claimed, called, recorded, each commit on the disk — by one,
 * two and three executors, beside raw undici making as many of the same calls to the same target. All alternate in each round, so
 * that they meet the same machine; raw and one executor run twice a round, to tell what the machine's noise looks like. Each
 * executor and raw have made as many calls before (`warmUp` of the figures; `--cold` 1,000 instead of 20,000).
 *
 * `--delay N`: endpoints take N ms, so that slots are what is scarce, and each executor more has as many jobs more; raw is left
 * out. `--materialise`: from tasks that are due, whose jobs one scheduler makes, executor and scheduler having been warmed up by such tasks.
 */

import { buildTasks, DRAIN_GROUP, drain, drainDueTasks, type Leg } from "./drain.ts";
import { median } from "./figures.ts";
import { callRaw, startTarget, type Target } from "./fleet.ts";
import { emptyTables, insertTasks } from "./insert-tasks.ts";
import { cpuMsOf } from "./machine.ts";
import { judge, type Measured, type RawLeg } from "./p2/judge.ts";
import { type Plan, perTaskOf, planP2 } from "./p2/plan.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { openBenchDatabases } from "./stack.ts";

const ROUNDS = 9;

export const scenario: Scenario = {
  question:
    "jobs a second end to end with 1, 2 and 3 executors, beside raw undici on the same target",
  takes: ["quick", "rounds", "seed", "executors", "tls", "delay", "materialise", "cold", "profile"],
  run: runP2,
};

async function runP2(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, options } = context;
  const plan = planP2(options);
  await using databases = await openBenchDatabases("p2", context);
  await using target = await startTarget(options.tls);
  const rounds = options.rounds ?? (options.quick ? 1 : ROUNDS);
  const measured: Measured = {
    raw: [],
    drains: new Map(plan.counts.map((count) => [count, []])),
    again: [],
  };
  const path = options.delayMs > 0 ? `delay/${options.delayMs}` : "ok/0";
  const leg = async (executors: number): Promise<Leg> => {
    const tasks = buildTasks(plan.tasksCount, options.seed, (i, priority) => {
      return `${target.origins[i % target.origins.length]}/${path}/${priority}/${DRAIN_GROUP}`;
    });
    await emptyTables(databases);
    await insertTasks(databases, tasks);
    if (options.materialise)
      return drainDueTasks(databases, target, { executors, warmUps: plan.warmUps }, context);
    const { tasksCount } = plan;
    const perTask = perTaskOf(plan, executors);
    return drain(databases, target, { executors, tasksCount, perTask }, context);
  };
  for (let round = 1; round <= rounds; round++) {
    const first = plan.withRaw ? await rawLeg(target, plan) : null;
    for (const [executors, legs] of measured.drains) legs.push(await leg(executors));
    if (plan.counts.length > 1) measured.again.push(await leg(plan.counts[0] ?? 1));
    if (first !== null)
      measured.raw.push({ ...first, again: (await rawLeg(target, plan)).perSecond });
    say(`round ${round} of ${rounds}: ${speeds(measured)}`);
  }
  return judge(measured, plan, options);
}

/** One leg of raw undici. */
async function rawLeg(target: Target, { jobs, warmUps }: Plan): Promise<Omit<RawLeg, "again">> {
  const targetMs = cpuMsOf(target.pid);
  const { tookMs, cpuMs } = await callRaw(target, { calls: jobs, warmUps });
  return {
    perSecond: (jobs * 1_000) / tookMs,
    cpuUs: (cpuMs * 1_000) / jobs,
    targetCpuUs: ((cpuMsOf(target.pid) - targetMs) * 1_000) / (jobs + warmUps),
  };
}

/** Of the last round, a second. */
function speeds({ raw, drains, again }: Measured): string {
  const last = raw.at(-1);
  const ours = [...drains.values(), again].flatMap((legs) => legs.at(-1)?.perSecond ?? []);
  const raws =
    last === undefined ? "" : `raw ${median([last.perSecond, last.again]).toFixed(0)}/s, `;
  return `${raws}${ours.map(Math.round)}/s`;
}
