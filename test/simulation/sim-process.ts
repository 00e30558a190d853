/**
 * A process on a machine of its own: a clock that is wrong in its own way, and a life that may end or stand still at any event.
 *
 * What a process waits for (timers, answers) comes through `after`: a dead one never learns of it, a frozen one learns of it when
 * it goes on, in the order in which it happened.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { EventQueue } from "./event-queue.ts";

/** 2026-06-01, a Monday. */
export const EPOCH_MS = Date.UTC(2026, 5, 1, 9, 0, 0);

const TIMER_MS_MIN = 0.01;

export interface ClockFaults {
  /** How far off the wall clock is at the start. */
  readonly skewMs: number;
  /** Its seconds per true second. */
  readonly rate: number;
  /** How early timers may fire. */
  readonly earlyMs: number;
}

export class SimProcess {
  readonly name: string;
  readonly queue: EventQueue;
  readonly clock: SimClock;
  #alive = true;
  #frozen = false;
  readonly #missed: (() => void)[] = [];

  constructor(name: string, queue: EventQueue, faults: ClockFaults) {
    this.name = name;
    this.queue = queue;
    this.clock = new SimClock(this, faults);
  }

  get alive(): boolean {
    return this.#alive;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Runs `work` in this process after true `delayMs`. Returns what cancels it. */
  after(delayMs: number, work: () => void): () => void {
    let cancelled = false;
    const event = this.queue.schedule(delayMs, () => {
      if (!this.#alive || cancelled) return;
      if (this.#frozen) this.#missed.push(() => (cancelled ? undefined : work()));
      else work();
    });
    return () => {
      cancelled = true;
      event.run = null;
    };
  }

  /** SIGKILL, a crash, a power cut: nothing of it happens any more. */
  kill(): void {
    this.#alive = false;
  }

  /** SIGSTOP, a long collection, a machine that stands still. Its clocks go on. */
  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    if (!this.#frozen) return;
    this.#frozen = false;
    for (const work of this.#missed.splice(0)) this.after(0, work);
  }
}

export class SimClock implements Clock {
  readonly #process: SimProcess;
  readonly #rate: number;
  readonly #earlyMs: number;
  readonly #bornMs: number;
  #skewMs: number;

  constructor(process: SimProcess, { skewMs, rate, earlyMs }: ClockFaults) {
    this.#process = process;
    this.#skewMs = skewMs;
    this.#rate = rate;
    this.#earlyMs = earlyMs;
    this.#bornMs = process.queue.nowMs;
  }

  /** Somebody sets the wall clock. */
  step(byMs: number): void {
    this.#skewMs += byMs;
  }

  nowMs(): number {
    return Math.floor(EPOCH_MS + this.#skewMs + this.#process.queue.nowMs * this.#rate);
  }

  monotonicMs(): number {
    return (this.#process.queue.nowMs - this.#bornMs) * this.#rate;
  }

  setTimer(delayMs: number, fire: () => void): () => void {
    // So small a wait that the sum is the same instant would be waited for again and again.
    const trueMs = delayMs <= 0 ? 0 : Math.max(TIMER_MS_MIN, delayMs / this.#rate);
    return this.#process.after(trueMs > 50 ? trueMs - this.#earlyMs : trueMs, fire);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      if (signal === undefined) {
        this.setTimer(delayMs, resolve);
        return;
      }
      const wake = () => {
        cancel();
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const cancel = this.setTimer(delayMs, wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
