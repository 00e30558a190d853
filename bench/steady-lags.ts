/** Lags of the load model at its average: of each call that was due, whether it has come or not. */
import { PRIORITIES } from "#core/domain/queue.ts";
import { sum } from "./figures.ts";
import { type Target, waitUntil } from "./fleet.ts";
import { lagsByPriority } from "./lag.ts";
import { countDue, type LoadTask, STEADY_GROUP } from "./load-model.ts";
import type { TargetCalls } from "./target.ts";

/** How long after the window calls are waited for. */
const GRACE_MS = 20_000;
const LOOK_EVERY_MS = 250;

export interface SteadyLags {
  /** Of each priority, most urgent first; a call that has not come counts as late as the earliest of them would be by now. */
  readonly lags: readonly (readonly number[])[];
  readonly missing: number;
  readonly calls: TargetCalls;
}

/** Waits for the calls of `tasks` that were scheduled from `fromMs` (inclusive) to `untilMs` (exclusive), and gives up after a while. */
export async function readSteadyLags(
  target: Target,
  tasks: readonly LoadTask[],
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
  signal: AbortSignal,
): Promise<SteadyLags> {
  const due = countDue(tasks, fromMs, untilMs);
  const window = { group: STEADY_GROUP, fromMs, untilMs };
  let calls = await target.calls();
  const look = async () => {
    calls = await target.calls();
    return sum(lagsByPriority(calls, window).map(({ length }) => length)) >= sum(due);
  };
  await waitUntil(look, GRACE_MS, signal, LOOK_EVERY_MS);
  const came = lagsByPriority(calls, window);
  const missing = PRIORITIES.map((_, rank) =>
    Math.max(0, (due[rank] ?? 0) - (came[rank]?.length ?? 0)),
  );
  const lateMs = Date.now() - fromMs;
  const lags = came.map((of, rank) => [...of, ...Array<number>(missing[rank] ?? 0).fill(lateMs)]);
  return { lags, missing: sum(missing), calls };
}
