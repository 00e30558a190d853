/**
 * Gives back the jobs of holders that are gone: a statement for each of the three things that may become of a job. Those that were claimed
 * from lines are a group of their own, in a transaction.
 */
import { assert } from "#core/domain/assert.ts";
import type { Retention } from "#core/domain/job.ts";
import { RESCUE_GROUP_MAX } from "#core/domain/limits.ts";
import type { Rescued, RunningKey } from "#core/ports/job-store.ts";
import { writeKeepingLines } from "./keep-lines.ts";
import {
  insertRescuedDeadLettersSql,
  rescueCancelledSql,
  rescueDeadSql,
  rescuePendingSql,
} from "./statements/rescue-jobs.ts";
import type { Database } from "./transaction.ts";

export async function rescueJobs(
  database: Database,
  keys: readonly RunningKey[],
  retention: Retention,
): Promise<Rescued> {
  assert(keys.length <= RESCUE_GROUP_MAX, "a group of rescues is bounded");
  const groups = await writeKeepingLines(database, keys, (writer, group, limited) =>
    rescueGroup(writer, group, retention, limited),
  );
  const sum = { pending: 0, dead: 0, cancelled: 0 };
  for (const { pending, dead, cancelled } of groups) {
    sum.pending += pending;
    sum.dead += dead;
    sum.cancelled += cancelled;
  }
  assert(
    sum.pending + sum.dead + sum.cancelled <= keys.length,
    "a group rescues no more jobs than it names",
  );
  return sum;
}

async function rescueGroup(
  writer: Pick<Database, "write">,
  keys: readonly RunningKey[],
  retention: Retention,
  limited: boolean,
): Promise<Rescued> {
  await writer.write(insertRescuedDeadLettersSql(keys));
  const dead = await writer.write(rescueDeadSql(keys, retention));
  const cancelled = await writer.write(rescueCancelledSql(keys, retention));
  const pending = await writer.write(rescuePendingSql(keys, limited));
  return { pending, dead, cancelled };
}
