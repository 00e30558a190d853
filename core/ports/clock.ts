/** Time as the process sees it. Schedules run on the database's clock, which services derive from polls and `monotonicMs`. */
export interface Clock {
  /** Wall clock, epoch ms. */
  nowMs(): number;
  /** Never goes back; only differences mean anything. Ms with fractions. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs` (any size; at least 0) and returns what cancels it. Timers may fire some ms early. */
  setTimer(delayMs: number, fire: () => void): () => void;
  /** Resolves after `delayMs`, or at once when `signal` is or becomes aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}
