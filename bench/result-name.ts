/** Under what name figures are kept in bench/results/: no variant overwrites another. */
import type { BenchOptions } from "./scenario.ts";

/** The scenario's name and whatever makes its figures others than those of the scenario itself, such as `p2-delay-50`. */
export function resultName(scenario: string, options: BenchOptions): string {
  const { seconds, executors, tls, delayMs, materialise, soak, cold, quick } = options;
  const parts = [
    scenario,
    tls > 0 && `tls-${tls}`,
    delayMs > 0 && `delay-${delayMs}`,
    materialise && "materialise",
    soak && "soak",
    seconds !== null && `seconds-${seconds}`,
    executors !== null && `executors-${executors}`,
    cold && "cold",
    quick && "quick",
  ];
  return parts.filter((part) => part !== false).join("-");
}
