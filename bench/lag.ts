/** Lag of calls: when they came, less when they were scheduled. Only first attempts count. */
import { PRIORITIES } from "#core/domain/queue.ts";
import { quantile, rounded } from "./figures.ts";
import type { Figure } from "./scenario.ts";
import type { TargetCalls } from "./target.ts";

export interface LagWindow {
  readonly group: number;
  /** Scheduled from here (inclusive) to there (exclusive), epoch ms. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Lags in ms by priority, most urgent first. */
export function lagsByPriority(calls: TargetCalls, window: LagWindow): number[][] {
  const lags: number[][] = PRIORITIES.map(() => []);
  for (const [i, scheduledAtMs] of calls.scheduledAtMs.entries()) {
    if (calls.attempt[i] !== 1 || calls.group[i] !== window.group) continue;
    if (scheduledAtMs < window.fromMs || scheduledAtMs >= window.untilMs) continue;
    lags[calls.priority[i] ?? 0]?.push((calls.arrivedAtMs[i] ?? Number.NaN) - scheduledAtMs);
  }
  return lags;
}

/** Count, p50, p99 and the largest of each priority. */
export function lagFigures(lags: readonly (readonly number[])[]): Figure {
  const of = (values: readonly number[]) => ({
    calls: values.length,
    p50Ms: rounded(quantile(values, 0.5), 0),
    p99Ms: rounded(quantile(values, 0.99), 0),
    maxMs: rounded(quantile(values, 1), 0),
  });
  return Object.fromEntries(PRIORITIES.map((priority, rank) => [priority, of(lags[rank] ?? [])]));
}

/** Rows of a table: priority, calls, p50, p99, max. */
export function lagRows(lags: readonly (readonly number[])[]): string[][] {
  const ms = (value: number) => (Number.isFinite(value) ? `${value.toFixed(0)} ms` : "");
  return PRIORITIES.map((priority, rank) => {
    const values = lags[rank] ?? [];
    const at = (share: number) => ms(quantile(values, share));
    return [priority, String(values.length), at(0.5), at(0.99), at(1)];
  });
}

export const LAG_HEADS = ["priority", "calls", "p50", "p99", "max"] as const;

/** Lines for a chart. */
export function lagLines(lags: readonly (readonly number[])[]) {
  return PRIORITIES.map((label, rank) => ({ label, lagsMs: lags[rank] ?? [] }));
}
