/**
 * Cron in a time zone, by cronie's rule.
 *
 * A *fixed* cron (no star at the beginning of its seconds, minute or hour) is a list of wall times; each runs once, at the first
 * instant at which the wall has come that far: the instant itself, the end of the gap that swallowed it, or the first
 * pass of a repeated hour. So its next run is the first instant that reaches the next wall time not yet seen.
 *
 * A cron that *follows real time* runs at every instant whose wall time matches: nothing is made up in a gap, and both
 * passes of a repeated hour run. So its next run is looked for piece by piece of constant offset.
 */
import { nextWallSecond } from "./cron-calendar.ts";
import type { CronFields } from "./cron-fields.ts";
import type { ZoneClock } from "./time-zone.ts";
import { FOLD_MAX_MS, firstInstantAtWall, firstUnseenWall } from "./time-zone.ts";

/** 9999-12-31T23:59:59.999Z. */
export const LAST_INSTANT_MS = 253_402_300_799_999;

/**
 * A cron that follows real time can only ever match inside gaps (`* 2 8-14 3 *\/7` in New York: 2 o'clock on the second
 * Sunday of March). One gap costs at most two looks, so this many looks in vain are decades of gaps: it never fires.
 */
const LOOKS_MAX = 100;

/** The first run strictly after `afterMs`, from 1970 to 9999, or null when none is left. */
export function nextCronRun(fields: CronFields, clock: ZoneClock, afterMs: number): number | null {
  const fromMs = Math.max(afterMs, -1);
  if (fromMs >= LAST_INSTANT_MS) return null;
  const runMs = fields.followsRealTime
    ? nextRealTimeRun(fields, clock, fromMs)
    : nextFixedRun(fields, clock, fromMs);
  return runMs === null || runMs > LAST_INSTANT_MS ? null : runMs;
}

function nextFixedRun(fields: CronFields, clock: ZoneClock, afterMs: number): number | null {
  const unseenMs = firstUnseenWall(clock, afterMs);
  const wallSecond = nextWallSecond(fields, Math.ceil(unseenMs / 1_000));
  return wallSecond === null ? null : firstInstantAtWall(clock, wallSecond * 1_000);
}

function nextRealTimeRun(fields: CronFields, clock: ZoneClock, afterMs: number): number | null {
  let fromMs = Math.floor(afterMs) + 1;
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const piece = clock.pieceAt(fromMs);
    const wallSecond = nextWallSecond(fields, Math.ceil((fromMs + piece.offsetMs) / 1_000));
    if (wallSecond === null) return null;
    const runMs = wallSecond * 1_000 - piece.offsetMs;
    if (runMs < piece.endMs) return runMs;
    // Past a change close by, wall times seen before may come again. Further on none can, and nothing matches before
    // `wallSecond`: the pieces between need not be looked at.
    const changeIsClose = piece.endMs <= fromMs + FOLD_MAX_MS;
    fromMs = changeIsClose ? piece.endMs : Math.max(piece.endMs, runMs - FOLD_MAX_MS);
  }
  return null;
}
