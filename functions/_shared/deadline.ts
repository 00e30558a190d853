import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";

/**
 * Waits for `work`, until `deadlineMs` on the monotonic clock. Then it throws OutcomeUnknown when the work is a write, which may
 * still be done, else StoreUnavailable.
 */
export async function withDeadline<T>(
  clock: Clock,
  deadlineMs: number,
  kind: "read" | "write",
  work: Promise<T>,
): Promise<T> {
  let cancel = () => {};
  const expired = new Promise<never>((_, reject) => {
    cancel = clock.setTimer(deadlineMs - clock.monotonicMs(), () => {
      const message = "no answer from the database before the request's deadline";
      reject(kind === "write" ? new OutcomeUnknown(message) : new StoreUnavailable(message));
    });
  });
  try {
    return await Promise.race([work, expired]);
  } finally {
    cancel();
  }
}
