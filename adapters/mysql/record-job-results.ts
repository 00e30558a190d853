/** Writes what calls came to: one statement for a group, and one before it where a job may have died of it. */
import { assert } from "#core/domain/assert.ts";
import type { Retention } from "#core/domain/job.ts";
import { RESULTS_GROUP_MAX } from "#core/domain/limits.ts";
import type { JobResult, Recorded } from "#core/ports/job-store.ts";
import {
  endInterruptedSql,
  type Interrupted,
  insertInterruptedDeadLettersSql,
  returnInterruptedSql,
} from "./statements/interrupt-jobs.ts";
import { type Ended, insertDeadLettersSql, recordResultsSql } from "./statements/record-results.ts";
import type { Database } from "./transaction.ts";

export async function recordJobResults(
  database: Database,
  results: readonly JobResult[],
  retention: Retention,
): Promise<Recorded> {
  assert(results.length <= RESULTS_GROUP_MAX, "a group of results is bounded");
  const interrupted = results.filter(
    (result): result is Interrupted => result.kind === "interrupt",
  );
  const ended = results.filter((result): result is Ended => result.kind !== "interrupt");
  let written = 0;
  if (ended.length > 0) {
    const mayDie = ended.filter(
      (result) => result.kind === "fail" && (result.maybeDead || result.finalReason !== null),
    );
    if (mayDie.length > 0) await database.write(insertDeadLettersSql(mayDie));
    written += await database.write(recordResultsSql(ended, retention));
  }
  if (interrupted.length > 0) {
    await database.write(insertInterruptedDeadLettersSql(interrupted));
    written += await database.write(endInterruptedSql(interrupted, retention));
    written += await database.write(returnInterruptedSql(interrupted, retention));
  }
  assert(written <= results.length, "a group writes no more jobs than it names");
  return { written, lostRaces: results.length - written };
}
