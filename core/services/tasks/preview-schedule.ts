import type { Schedule, ScheduleWindow } from "#core/domain/schedule.ts";
import { localTime, nextOccurrence } from "#core/domain/schedule.ts";

export interface Occurrence {
  readonly atMs: number;
  /** The same instant with the offset of the schedule's zone. */
  readonly local: string;
}

/** The first `count` occurrences after `afterMs`. Throws ScheduleError when a stored schedule cannot go on. */
export function previewSchedule(
  schedule: Schedule,
  window: ScheduleWindow,
  count: number,
  afterMs: number,
): Occurrence[] {
  const items: Occurrence[] = [];
  let lastMs = afterMs;
  while (items.length < count) {
    const atMs = nextOccurrence(schedule, window, lastMs);
    if (atMs === null) break;
    items.push({ atMs, local: localTime(schedule, atMs) });
    lastMs = atMs;
  }
  return items;
}
