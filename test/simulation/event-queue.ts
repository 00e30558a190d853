/**
 * True time, and all that is going to happen in it: one heap of events, by instant and then by the order in which they were
 * scheduled. After each event every promise that can settle does so, before the next: nothing else drives the simulation, no timer
 * and no I/O, so a run depends on its seed alone.
 */

export interface SimEvent {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | null;
}

const SETTLED = Promise.resolve();

export class EventQueue {
  #nowMs = 0;
  #order = 0;
  #fired = 0;
  readonly #heap: SimEvent[] = [];

  /** Ms since the start of the run, with fractions. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events that have happened; cancelled ones do not count. */
  get fired(): number {
    return this.#fired;
  }

  schedule(delayMs: number, run: () => void): SimEvent {
    const event = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, run };
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as SimEvent;
      if (isBefore(above, event)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
    return event;
  }

  /** Goes on until `isOver` says so after an event, or nothing is left to happen. Rejects with what an event throws. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      // A tick that a microtask asks for comes when no microtask is left: all promises have settled by then.
      const askForTick = () => process.nextTick(step);
      const settleThenStep = () => void SETTLED.then(askForTick);
      const step = () => {
        try {
          if (isOver() || !this.#fireNext()) resolve();
          else settleThenStep();
        } catch (error) {
          reject(error);
        }
      };
      settleThenStep();
    });
  }

  #fireNext(): boolean {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return false;
      const { run } = event;
      if (run === null) continue;
      this.#nowMs = event.atMs;
      this.#fired++;
      event.run = null;
      run();
      return true;
    }
  }

  #pop(): SimEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = child + 1;
      if (right < heap.length && isBefore(heap[right] as SimEvent, heap[child] as SimEvent))
        child = right;
      const below = heap[child] as SimEvent;
      if (!isBefore(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
