/**
 * What a scheduler does over time: ticks over the usual horizon until nothing is left in it, then a look at what lies ahead.
 *
 * Where more is due within a span than ticks make in such a span, the peak is made before it starts: up to its instant, at most
 * HORIZON_MS_MAX ahead. The usual horizon still comes first, once every TICK_MS, because a tick takes the urgent priorities
 * first, and what is urgent in four minutes must not hold up what is due in ten seconds.
 */
import { GroupSize } from "#core/domain/group-size.ts";
import {
  DENSE_TASKS,
  HORIZON_MS,
  HORIZON_MS_MAX,
  MATERIALIZE_JOBS_MAX,
} from "#core/domain/limits.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import type { WeightOf } from "#core/domain/tenant-weight.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { DueAhead, TaskStore } from "#core/ports/task-store.ts";
import { type MaterializeDeps, materializeDueTasks } from "./materialize-due-tasks.ts";

const TICK_MS = 1_000;
/** Peaks are looked for in every other idle tick: they are known minutes before. */
const LOOK_AHEAD_MS = 1_900;
/** Missed runs have a share of the smallest tick too, and what is due the rest. */
const TICK_JOBS_MIN = 10;
/** Jobs that ticks make in a second, until it is measured. */
const TICKS_RATE_PER_SECOND = 1_000;
/** Weight of the last tick in the measured rate. */
const RATE_GAIN = 0.2;

export interface SchedulerDeps extends Omit<MaterializeDeps, "lanes"> {
  readonly tasks: Pick<TaskStore, "materialize" | "lookAhead">;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Not given: no tenant has more of a share than another. */
  readonly weightOf?: WeightOf;
}

export class Scheduler {
  readonly #deps: SchedulerDeps & MaterializeDeps;
  readonly #size = new GroupSize(MATERIALIZE_JOBS_MAX, TICK_JOBS_MIN);
  #ratePerSecond = TICKS_RATE_PER_SECOND;
  /** Until when peaks ahead are being made, on the monotonic clock; null: none is known. */
  #peakAtMs: number | null = null;
  /** The same on the database's clock, as it was last read. */
  #peakMs: number | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #lookedAheadMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SchedulerDeps) {
    this.#deps = { ...deps, lanes: new TenantLanes(deps.weightOf) };
  }

  /** One tick. Ms until the next: 0 while something was made. */
  async tickOnce(): Promise<number> {
    const peakAtMs = this.#peakAtMs;
    if (peakAtMs === null || this.#nowMs() - this.#lookedAtMs >= TICK_MS) {
      if (await this.#tick(HORIZON_MS)) return 0;
      this.#lookedAtMs = this.#nowMs();
    }
    if (peakAtMs !== null) {
      const horizonMs = Math.ceil(Math.min(HORIZON_MS_MAX, peakAtMs - this.#nowMs()));
      if (horizonMs > HORIZON_MS && (await this.#tick(horizonMs))) return 0;
    }
    if (peakAtMs === null && this.#nowMs() - this.#lookedAheadMs < LOOK_AHEAD_MS) return TICK_MS;
    this.#lookedAheadMs = this.#nowMs();
    const { tasks } = this.#deps;
    const ahead = await tasks.lookAhead(HORIZON_MS, HORIZON_MS_MAX, DENSE_TASKS);
    const untilMs = peakUntil(ahead, this.#ratePerSecond);
    this.#peakAtMs = untilMs === null ? null : this.#nowMs() + untilMs - ahead.nowMs;
    // A peak that has just been made and is still there is in others' hands: they make it.
    const again = untilMs !== null && untilMs === this.#peakMs;
    this.#peakMs = untilMs;
    return untilMs === null || again ? TICK_MS : 0;
  }

  async #tick(horizonMs: number): Promise<boolean> {
    const startMs = this.#nowMs();
    const { rowsMax } = this.#size;
    const done = await this.#size.learn(
      rowsMax,
      () => materializeDueTasks(this.#deps, horizonMs, rowsMax),
      (made) => (made === null ? 0 : rowsMax),
    );
    if (done === null) return false;
    const rows = done.made + done.alreadyMade;
    const tookMs = this.#nowMs() - startMs;
    // Small ticks say nothing about what a full one costs.
    if (rows >= rowsMax / 2 && tookMs > 0)
      this.#ratePerSecond += RATE_GAIN * ((rows * 1_000) / tookMs - this.#ratePerSecond);
    return true;
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }
}

/** Instant up to which jobs are to be made now, when somewhere ahead more is due than ticks make meanwhile; null when nowhere. */
export function peakUntil({ priorities }: DueAhead, ratePerSecond: number): number | null {
  const spanMs = (DENSE_TASKS * 1_000) / ratePerSecond;
  let untilMs: number | null = null;
  for (const { firstMs, deepMs } of priorities) {
    if (firstMs === null || deepMs === null || deepMs - firstMs >= spanMs) continue;
    untilMs = Math.max(untilMs ?? 0, deepMs);
  }
  return untilMs;
}
