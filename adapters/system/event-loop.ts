import { monitorEventLoopDelay } from "node:perf_hooks";

const RESOLUTION_MS = 20;

/** Measures how long the event loop was kept from its timers. */
export function watchEventLoop(): { longestSeconds(): number } {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  return {
    /** The longest since the last time it was asked. */
    longestSeconds() {
      const longestMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
      delay.reset();
      return Math.round(longestMs) / 1_000;
    },
  };
}
