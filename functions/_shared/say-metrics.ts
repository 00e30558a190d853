/** Metrics of a function: lines on stdout that CloudWatch makes metrics of, while a run goes on and when it ends. */
import { emfLines } from "#adapters/aws/emf-lines.ts";
import type { ProcessLogger } from "#adapters/system/logger.ts";
import type { MetricsInMemory } from "#adapters/system/metrics.ts";
import type { Clock } from "#core/ports/clock.ts";

/** What is measured at the start of a run is not kept until its end. */
const SAY_EVERY_MS = 30_000;

export interface SayingDeps {
  readonly clock: Clock;
  readonly logger: ProcessLogger;
  readonly metrics: MetricsInMemory;
}

/** Runs `work`, and says meanwhile and at its end what has been counted, whatever becomes of it. */
export async function sayingMetrics<T>(deps: SayingDeps, work: () => Promise<T>): Promise<T> {
  const { clock } = deps;
  let cancel = () => {};
  const sayOn = () => {
    cancel = clock.setTimer(SAY_EVERY_MS, () => {
      say(deps);
      sayOn();
    });
  };
  sayOn();
  try {
    return await work();
  } finally {
    cancel();
    say(deps);
  }
}

function say({ clock, logger, metrics }: SayingDeps): void {
  for (const line of emfLines(metrics.service, metrics.take(), clock.nowMs())) logger.metrics(line);
}
