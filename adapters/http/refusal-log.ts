import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";

const LINES_PER_SECOND = 10;
const ORIGIN_LENGTH_MAX = 300;

export interface Refusal {
  readonly tenantId: string;
  /** Scheme, host and port; never path, query or credentials. */
  readonly origin: string;
  readonly reason: string;
}

/**
 * The exact reason of every refused call, for us alone. A tenant's schedule must not write our log full: beyond
 * LINES_PER_SECOND refusals are counted only, and the next line says how many.
 */
export function openRefusalLog(clock: Clock, logger: Logger): (refusal: Refusal) => void {
  let windowEndsMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let unsaid = 0;
  return ({ tenantId, origin, reason }) => {
    const nowMs = clock.monotonicMs();
    if (nowMs >= windowEndsMs) {
      windowEndsMs = nowMs + 1_000;
      lines = 0;
    }
    if (lines >= LINES_PER_SECOND) {
      unsaid++;
      return;
    }
    lines++;
    logger.warn("destination not allowed: nothing was sent; the attempt counts as failed", {
      code: "egress-refused",
      message: `${reason}; tenant ${tenantId}, ${origin.slice(0, ORIGIN_LENGTH_MAX)}`,
      ...(unsaid > 0 ? { count: unsaid } : {}),
    });
    unsaid = 0;
  };
}
