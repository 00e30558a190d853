/**
 * Jobs that find no slot here because calls of their own tenant fill this executor and last: another executor may have one for them, so
 * they go back, a job under a limit with all of its line. Who takes them may be as full, and they come back in turn: no more go than costs
 * little then.
 */
import type { LimitKey } from "#core/domain/call-limit.ts";
import { STUCK_BACK_EVERY_MS, STUCK_BACK_MAX, STUCK_MS } from "#core/domain/limits.ts";
import type { HeldJob } from "./held-job.ts";

/** At least one in so many of STUCK_BACK_MAX go at once: each group is a statement. */
const GROUPS = 3;

export class StuckJobs {
  /** Monotonic: each that went back has used up a part of the time until then. */
  #usedMs = Number.NEGATIVE_INFINITY;

  /** Which go back now, of all that is `held`. `nowMs`: monotonic, and on the database's clock. */
  choose(
    held: ReadonlySet<HeldJob>,
    isStuck: (held: HeldJob) => boolean,
    nowMs: { readonly monotonic: number; readonly database: number },
  ): ReadonlySet<HeldJob> {
    const usedMs = Math.max(this.#usedMs, nowMs.monotonic - STUCK_BACK_MAX * STUCK_BACK_EVERY_MS);
    const most = Math.floor((nowMs.monotonic - usedMs) / STUCK_BACK_EVERY_MS);
    const chosen = new Set<HeldJob>();
    if (most < STUCK_BACK_MAX / GROUPS) return chosen;
    const lines = new Set<LimitKey>();
    for (const one of held) {
      if (chosen.size + lines.size >= most) break;
      const { phase, job, claimedAtMs } = one;
      if (phase !== "ready" && phase !== "limited") continue;
      const waitedMs = nowMs.database - Math.max(job.runAtMs, claimedAtMs);
      // The database's clock was set back: a limit's slots are not kept for what is of before.
      const isOfBefore = job.limitKey !== null && waitedMs <= -STUCK_MS;
      if ((waitedMs < STUCK_MS && !isOfBefore) || !isStuck(one)) continue;
      if (job.limitKey === null) chosen.add(one);
      else lines.add(job.limitKey);
    }
    if (lines.size > 0)
      for (const one of held) {
        const { phase, job } = one;
        const isUnsent = phase !== "preparing" && phase !== "sending";
        if (isUnsent && job.limitKey !== null && lines.has(job.limitKey)) chosen.add(one);
      }
    // However many a line has, the others' do not wait for it longer than for the next group: it is not asked for again meanwhile.
    this.#usedMs = Math.min(nowMs.monotonic, usedMs + chosen.size * STUCK_BACK_EVERY_MS);
    return chosen;
  }
}
