/**
 * Every process that is compared makes as many calls before it is measured: each executor, raw undici and each peer's leg. A user
 * gets what a process does that has run for hours; V8 and the JVM compile what is often called only after some thousand times.
 */
import type { BenchOptions } from "./scenario.ts";

const CALLS = 20_000;
const COLD_CALLS = 1_000;
const QUICK_CALLS = 200;

/** How many calls a process makes before it is measured; `--cold`: only so many that connections are open. */
export function warmUpCalls({ quick, cold }: Pick<BenchOptions, "quick" | "cold">): number {
  if (quick) return QUICK_CALLS;
  return cold ? COLD_CALLS : CALLS;
}
