/**
 * A function runs on Lambda's Node, which AWS updates by itself, a worker on the Node that this repository pins. Both reckon with
 * the rules of time zones that their Node carries: where these differ, the API says other times than the scheduler makes jobs for.
 */
import type { Logger } from "#core/ports/logger.ts";

/** For every function that computes schedules: pure data, part of its env.ts. */
export const zoneDataEnv = {
  /** Version of the workers' time zone data, such as `2026c`; empty where functions run on the same Node. */
  WORKERS_ZONE_DATA: { kind: "text", default: "" },
} as const;

/** Whether the rules `here` are not those of the workers; says so, once for each process. `here`: by default this process's. */
export function compareZoneData(
  { WORKERS_ZONE_DATA: workers }: { readonly WORKERS_ZONE_DATA: string },
  logger: Pick<Logger, "warn">,
  here = process.versions.tz ?? "none",
): boolean {
  if (workers === "" || workers === here) return false;
  logger.warn(
    `time zone data differs: ${here} here, ${workers} in the workers. Previews, and next runs of tasks that are made, resumed or given another schedule, may be off where a zone's rules have changed in between; deploy a release that pins the newer Node, then run: npm run admin -- zones apply`,
  );
  return true;
}
