import type { Clock } from "#core/ports/clock.ts";

/** setTimeout fires at once when asked for more. */
const TIMER_MS_MAX = 2_147_483_647;

/** The machine's clock and timers. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer,
  sleep(delayMs, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const wake = () => {
        cancel();
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const cancel = setTimer(delayMs, wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  },
};

function setTimer(delayMs: number, fire: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number) => {
    timer =
      leftMs > TIMER_MS_MAX
        ? setTimeout(() => arm(leftMs - TIMER_MS_MAX), TIMER_MS_MAX)
        : setTimeout(fire, leftMs);
  };
  arm(Math.max(0, delayMs));
  return () => clearTimeout(timer);
}
