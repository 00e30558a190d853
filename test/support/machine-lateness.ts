/** Whether the machine itself was late: a test that measures times has then measured the machine, and does so once more. */
import { monitorEventLoopDelay } from "node:perf_hooks";

const LOOK_EVERY_MS = 5;
/** On a machine with nothing else to do a timer is a few ms late. */
const LATE_MS = 25;

/** Measures from now until it is asked how late a timer of this process, which has little to do, was at most. */
export function watchMachine(): () => { readonly isLate: boolean; readonly lateMs: number } {
  const delay = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS });
  delay.enable();
  return () => {
    delay.disable();
    const lateMs = Math.max(0, Math.round(delay.max / 1e6 - LOOK_EVERY_MS));
    return { isLate: lateMs > LATE_MS, lateMs };
  };
}
