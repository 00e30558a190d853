/**
 * Paces one `…Once` step: calls it, waits as long as it asks, backs off while it throws, stops when told. What the step does is
 * its own affair; loops, backing off and stopping live here only.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Random } from "#core/ports/random.ts";
import type { Health } from "./health.ts";

export interface LoopDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Told how steps end. */
  readonly health?: Pick<Health, "watch" | "unwatch" | "good" | "failed">;
}

export interface Loop {
  readonly name: string;
  /** One step; returns ms until the next. Operating errors that are retryable are waited out, any other ends the process. */
  readonly step: () => Promise<number>;
  /** First and longest wait after a failure, ms. */
  readonly backoffMs: { readonly first: number; readonly max: number };
  /** What it means while steps fail, and what repairs it: for whoever asks the process for its health. */
  readonly meanwhile?: string;
  /** A loop of which no step has ended for so long is stuck, ms. */
  readonly stuckAfterMs?: number;
}

const STUCK_AFTER_MS = 90_000;

const SAID_AGAIN_EVERY_MS = 10_000;

/** What a loop waits on and anybody can set; waking a loop that is awake ends its next wait at once. */
export class Wake {
  #controller = new AbortController();

  set = (): void => {
    // An abort without a reason makes an error with its stack, also of a signal that is aborted: per call, 17 µs.
    if (!this.#controller.signal.aborted) this.#controller.abort("wake");
  };

  /** Waits `delayMs` or until set; then it is unset again. */
  async wait(clock: Clock, delayMs: number): Promise<void> {
    if (delayMs > 0) await clock.sleep(delayMs, this.#controller.signal);
    if (this.#controller.signal.aborted) this.#controller = new AbortController();
  }
}

/** Runs until `stop` is aborted; resolves after the step that is under way. */
export async function runLoop(
  deps: LoopDeps,
  loop: Loop,
  stop: AbortSignal,
  wake = new Wake(),
): Promise<void> {
  const { name, meanwhile = "tried again until it works", stuckAfterMs = STUCK_AFTER_MS } = loop;
  stop.addEventListener("abort", wake.set, { once: true });
  deps.health?.watch({ name, meanwhile, stuckAfterMs });
  try {
    await runSteps(deps, loop, stop, wake);
  } finally {
    deps.health?.unwatch(name);
  }
}

async function runSteps(deps: LoopDeps, loop: Loop, stop: AbortSignal, wake: Wake): Promise<void> {
  let failures = 0;
  let saidMs = Number.NEGATIVE_INFINITY;
  while (!stop.aborted) {
    let delayMs: number;
    try {
      delayMs = await loop.step();
      deps.health?.good(loop.name);
      if (failures > 0) deps.logger.info(`${loop.name}: working again`, { count: failures });
      failures = 0;
    } catch (error) {
      if (!(error instanceof OperatingError) || !error.retryable) throw error;
      failures++;
      deps.health?.failed(loop.name, error);
      const grownMs = Math.min(
        loop.backoffMs.max,
        loop.backoffMs.first * 2 ** Math.min(failures - 1, 16),
      );
      delayMs = grownMs * (0.5 + deps.random.unit() / 2);
      const nowMs = deps.clock.monotonicMs();
      if (nowMs - saidMs >= SAID_AGAIN_EVERY_MS || failures === 1) {
        saidMs = nowMs;
        deps.logger.warn(`${loop.name}: database away or busy; trying again`, {
          ...describeError(error),
          count: failures,
          delayMs: Math.round(delayMs),
        });
      }
      await deps.clock.sleep(delayMs, stop);
      continue;
    }
    await wake.wait(deps.clock, delayMs);
  }
}
