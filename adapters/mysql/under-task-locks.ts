/**
 * Transactions that make jobs run of tasks they do not change. They share the tasks' locks; but of a task that has no further
 * occurrence a run is noted, which needs an exclusive lock, and two that share one could not both go on to that. Such a
 * transaction is rolled back and begun anew with exclusive locks.
 */
import { assert } from "#core/domain/assert.ts";
import type { Session } from "./pool.ts";
import type { Database } from "./transaction.ts";

/** Says that a run is to be noted; the transaction must have written nothing that counts. */
export const TO_BE_NOTED = Symbol("to be noted");

export async function underTaskLocks<Result>(
  database: Database,
  work: (session: Session, lock: "share" | "update") => Promise<Result | typeof TO_BE_NOTED>,
): Promise<Result> {
  const result = await database.transaction((session) => work(session, "share"));
  if (result !== TO_BE_NOTED) return result;
  const again = await database.transaction((session) => work(session, "update"));
  assert(again !== TO_BE_NOTED, "an exclusive lock is enough");
  return again;
}
