/** History as readers ask it: a store that may be away, which is an answer and not an error. */
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { Logger } from "#core/ports/logger.ts";

export interface HistoryReaderDeps {
  readonly history: HistoryStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type Read<T> = { readonly kind: "read"; readonly value: T } | { readonly kind: "away" };

/** Asks history once. The store itself ends what it does by its deadline. */
export async function readHistory<T>(
  { history, logger }: HistoryReaderDeps,
  ask: (history: HistoryStore) => Promise<T>,
): Promise<Read<T>> {
  try {
    return { kind: "read", value: await ask(history) };
  } catch (error) {
    if (!(error instanceof OperatingError)) throw error;
    const said = "history does not answer: the caller gets what MySQL has, and is told so";
    logger.warn(said, { ...describeError(error) });
    return { kind: "away" };
  }
}
