/**
 * Writes what calls came to: one statement for a group, and one before it where a job may have died of it. Jobs that were claimed from
 * lines are a group of their own, in a transaction.
 */
import { assert } from "#core/domain/assert.ts";
import type { Retention } from "#core/domain/job.ts";
import { RESULTS_GROUP_MAX } from "#core/domain/limits.ts";
import type { JobResult, Recorded } from "#core/ports/job-store.ts";
import { writeKeepingLines } from "./keep-lines.ts";
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
  const groups = await writeKeepingLines(
    database,
    results,
    (writer, group, limited) => writeGroup(writer, group, retention, limited),
    ({ kind }) => kind !== "succeed",
  );
  const written = groups.reduce((sum, count) => sum + count, 0);
  assert(written <= results.length, "a group writes no more jobs than it names");
  return { written, lostRaces: results.length - written };
}

async function writeGroup(
  writer: Pick<Database, "write">,
  results: readonly JobResult[],
  retention: Retention,
  limited: boolean,
): Promise<number> {
  const interrupted = results.filter(
    (result): result is Interrupted => result.kind === "interrupt",
  );
  const ended = results.filter((result): result is Ended => result.kind !== "interrupt");
  let written = 0;
  if (ended.length > 0) {
    const mayDie = ended.filter((result) => result.kind === "fail" && result.maybeDead);
    if (mayDie.length > 0) await writer.write(insertDeadLettersSql(mayDie));
    written += await writer.write(recordResultsSql(ended, retention, limited));
  }
  if (interrupted.length > 0) {
    await writer.write(insertInterruptedDeadLettersSql(interrupted));
    written += await writer.write(endInterruptedSql(interrupted, retention));
    written += await writer.write(returnInterruptedSql(interrupted, retention, limited));
  }
  return written;
}
