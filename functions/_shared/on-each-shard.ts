/** What a function on a schedule does: the same work on every shard at once, until the invocation's time is out. */
import { describeError, type ErrorDescription } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";

/** The part of a Lambda context that is needed. */
export interface Invocation {
  getRemainingTimeInMillis(): number;
}

/** The instant on the monotonic clock that lies `leftMs` before the end of the invocation. */
export function endOf(invocation: Invocation, clock: Clock, leftMs: number): number {
  return clock.monotonicMs() + invocation.getRemainingTimeInMillis() - leftMs;
}

/** What the platform gets to print of a run that failed: never an error as it was thrown. */
class RunFailed extends OperatingError {
  override readonly name = "RunFailed";
  readonly code = "run-failed";
  readonly retryable = true;
}

/**
 * Waits for all of them, whatever becomes of one: what is under way when an invocation ends is frozen. Throws RunFailed, which describes
 * the first error.
 */
export async function onEachShard(
  shards: Shards,
  work: (shard: Shard) => Promise<unknown>,
): Promise<void> {
  const ended = await Promise.allSettled(shards.all().map(work));
  const failure = ended.find((each) => each.status === "rejected");
  if (failure !== undefined) throw new RunFailed(textOf(describeError(failure.reason)));
}

function textOf(description: ErrorDescription): string {
  return Object.values(description).join("; ");
}
