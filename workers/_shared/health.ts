/**
 * What is wrong with this process, in words for whoever looks: which loop fails, since when, what that means, and what repairs it.
 * Loops tell how their steps end; a loop whose steps neither end nor fail is stuck.
 */
import { describeError, type ErrorDescription } from "#core/domain/describe-error.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { MetricService } from "#core/ports/metrics.ts";

export interface LoopReport {
  readonly name: string;
  /** Since the last step that ended well; null before the first. */
  readonly lastGoodSecondsAgo: number | null;
  /** Steps that failed since. */
  readonly failures: number;
  readonly failingSince: string | null;
  readonly error: ErrorDescription | null;
}

export interface HealthReport {
  readonly service: MetricService;
  /** `draining`: told to stop, finishing what is under way. */
  readonly status: "ok" | "wrong" | "draining";
  /** Whether it has ever worked: a step of each loop has ended well. Nothing takes that back. */
  readonly ready: boolean;
  /** One sentence for each thing that is wrong: since when, what it means, what repairs it. */
  readonly wrong: readonly string[];
  readonly pid: number;
  readonly startedAt: string;
  readonly loops: readonly LoopReport[];
  readonly figures: Readonly<Record<string, number>>;
}

interface LoopState {
  readonly meanwhile: string;
  readonly stuckAfterMs: number;
  goodMs: number | null;
  failures: number;
  failingSinceMs: number | null;
  error: ErrorDescription | null;
}

export interface WatchedLoop {
  readonly name: string;
  /** What it means while its steps fail, and what repairs it. */
  readonly meanwhile: string;
  /** So long after its last good step it counts as stuck. */
  readonly stuckAfterMs: number;
}

export interface HealthDeps {
  readonly clock: Clock;
  readonly service: MetricService;
  readonly pid: number;
}

export class Health {
  readonly #deps: HealthDeps;
  readonly #startedMs: number;
  readonly #startedAtMs: number;
  readonly #loops = new Map<string, LoopState>();
  #ready = false;
  #draining = false;

  /** More that is wrong, if anything, and figures beside it: the worker's own. */
  look: () => { readonly wrong: readonly string[]; readonly figures: Record<string, number> } =
    () => ({ wrong: [], figures: {} });

  constructor(deps: HealthDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
    this.#startedAtMs = deps.clock.nowMs();
  }

  watch({ name, meanwhile, stuckAfterMs }: WatchedLoop): void {
    const none = { goodMs: null, failures: 0, failingSinceMs: null, error: null };
    this.#loops.set(name, { meanwhile, stuckAfterMs, ...none });
  }

  /** A loop that has ended is no longer looked at. */
  unwatch(name: string): void {
    this.#loops.delete(name);
  }

  good(name: string): void {
    const loop = this.#loops.get(name);
    if (loop === undefined) return;
    loop.goodMs = this.#deps.clock.monotonicMs();
    loop.failures = 0;
    loop.failingSinceMs = null;
    loop.error = null;
    // A worker's loops begin together: none is missing here when the first of them gets somewhere.
    this.#ready ||= [...this.#loops.values()].every(({ goodMs }) => goodMs !== null);
  }

  failed(name: string, error: unknown): void {
    const loop = this.#loops.get(name);
    if (loop === undefined) return;
    loop.failures++;
    loop.failingSinceMs ??= this.#deps.clock.nowMs();
    loop.error = describeError(error);
  }

  drain(): void {
    this.#draining = true;
  }

  /** Ms since the last good step of a loop, or since the start where there was none; 0 for a loop that does not run. */
  sinceGoodMs(name: string): number {
    const loop = this.#loops.get(name);
    if (loop === undefined) return 0;
    return this.#deps.clock.monotonicMs() - (loop.goodMs ?? this.#startedMs);
  }

  report(): HealthReport {
    const { service, pid } = this.#deps;
    const own = this.look();
    const wrong = [
      ...[...this.#loops].flatMap(([name, loop]) => this.#wrongOf(name, loop)),
      ...own.wrong,
    ];
    return {
      service,
      status: this.#draining ? "draining" : wrong.length > 0 ? "wrong" : "ok",
      ready: this.#ready,
      wrong,
      pid,
      startedAt: new Date(this.#startedAtMs).toISOString(),
      loops: [...this.#loops].map(([name, loop]) => this.#reportOf(name, loop)),
      figures: own.figures,
    };
  }

  #wrongOf(name: string, loop: LoopState): string[] {
    const { failingSinceMs, error, meanwhile, stuckAfterMs } = loop;
    if (failingSinceMs !== null) {
      const since = new Date(failingSinceMs).toISOString();
      const said = error?.message ?? error?.code ?? error?.error ?? "";
      return [`${name} fails since ${since} (${said}): ${meanwhile}`];
    }
    const sinceMs = this.sinceGoodMs(name);
    if (sinceMs <= stuckAfterMs) return [];
    return [
      `${name} is stuck: no step has ended for ${Math.round(sinceMs / 1_000)} s: ${meanwhile}`,
    ];
  }

  #reportOf(name: string, loop: LoopState): LoopReport {
    const { goodMs, failures, failingSinceMs, error } = loop;
    return {
      name,
      lastGoodSecondsAgo: goodMs === null ? null : Math.round(this.sinceGoodMs(name) / 100) / 10,
      failures,
      failingSince: failingSinceMs === null ? null : new Date(failingSinceMs).toISOString(),
      error,
    };
  }
}
