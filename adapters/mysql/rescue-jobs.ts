/** Gives back the jobs of holders that are gone: a statement for each of the three things that may become of a job. */
import { assert } from "#core/domain/assert.ts";
import type { Retention } from "#core/domain/job.ts";
import { RESCUE_GROUP_MAX } from "#core/domain/limits.ts";
import type { Rescued, RunningKey } from "#core/ports/job-store.ts";
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
  if (keys.length === 0) return { pending: 0, dead: 0, cancelled: 0, lostRaces: 0 };
  await database.write(insertRescuedDeadLettersSql(keys));
  const dead = await database.write(rescueDeadSql(keys, retention));
  const cancelled = await database.write(rescueCancelledSql(keys, retention));
  const pending = await database.write(rescuePendingSql(keys));
  const lostRaces = keys.length - pending - dead - cancelled;
  assert(lostRaces >= 0, "a group rescues no more jobs than it names");
  return { pending, dead, cancelled, lostRaces };
}
