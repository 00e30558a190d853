/** What ends a call before its answer: its timeout, or the executor's shutdown. */

/** Ends one call, once, at whatever it is waiting for. */
export class CallEnding {
  /** When it times out, in monotonic milliseconds. */
  readonly endsAtMs: number;
  #why: "timeout" | "interrupted" | null = null;
  /** Stops what the call is at. */
  onEnd: () => void = () => {};

  constructor(endsAtMs: number) {
    this.endsAtMs = endsAtMs;
  }

  get why(): "timeout" | "interrupted" | null {
    return this.#why;
  }

  end(why: "timeout" | "interrupted"): void {
    if (this.#why !== null) return;
    this.#why = why;
    this.onEnd();
  }

  throwIfEnded(): void {
    if (this.#why !== null) throw new Error(this.#why);
  }
}

/** Calls by the signal that interrupts them: one listener for all, since a signal looks through its listeners one by one. */
export class Interrupts {
  readonly #bySignal = new WeakMap<AbortSignal, Set<CallEnding>>();

  /** `ending` ends when `signal` is aborted, or is so already. Returns what forgets it. */
  add(signal: AbortSignal, ending: CallEnding): () => void {
    if (signal.aborted) ending.end("interrupted");
    let endings = this.#bySignal.get(signal);
    if (endings === undefined) {
      const all = new Set<CallEnding>();
      const interrupt = () => {
        for (const one of all) one.end("interrupted");
      };
      signal.addEventListener("abort", interrupt, { once: true });
      this.#bySignal.set(signal, all);
      endings = all;
    }
    const added = endings.add(ending);
    return () => added.delete(ending);
  }
}
