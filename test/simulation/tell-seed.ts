/** What a seed has shown, for a person. */
import type { SeedRun } from "./run-seed.ts";

const VIOLATIONS_TOLD_MAX = 20;

/** The trace is of the first job that something is wrong with, and its task; `whole`: of everything. */
export function tellSeed(run: SeedRun, { whole }: { readonly whole: boolean }): string {
  const { seed, violations, events, calls, jobs, lastedMs, world } = run;
  const first = violations[0];
  const shown = whole || first !== undefined;
  const trace = shown
    ? world.trace.linesOf(
        whole ? null : (first?.jobId ?? null),
        whole ? null : (first?.taskId ?? null),
      )
    : [];
  return [
    `seed ${seed}: ${JSON.stringify(world.scenario)}`,
    ...trace,
    ...violations
      .slice(0, VIOLATIONS_TOLD_MAX)
      .map(
        ({ rule, detail, jobId, taskId }) => `BROKEN: ${rule}: ${detail} ${jobId ?? taskId ?? ""}`,
      ),
    `seed ${seed}: ${events} events, ${jobs} jobs, ${calls} calls in ${Math.round(lastedMs / 1_000)} s of its time: ${violations.length} promises broken`,
  ].join("\n");
}
