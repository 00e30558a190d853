/**
 * Gives back the jobs of holders that are gone: a statement for each of the three things that may become of a job. Those that were claimed
 * from lines are a group of their own, in a transaction.
 */
import { assert } from "#core/domain/assert.ts";
import type { Retention } from "#core/domain/job.ts";
import { RESCUE_GROUP_MAX } from "#core/domain/limits.ts";
import type { Rescued, RunningKey } from "#core/ports/job-store.ts";
import { keepLines, splitLimited } from "./keep-lines.ts";
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
  const { limited, free } = splitLimited(keys);
  const counts = [await rescueGroup(database, free, retention, false)];
  if (limited.length > 0) {
    counts.push(
      await keepLines(database, limited, true, (session) =>
        rescueGroup(session, limited, retention, true),
      ),
    );
  }
  const sum = (of: (one: Counts) => number) => counts.reduce((all, one) => all + of(one), 0);
  const [pending, dead, cancelled] = [
    sum((one) => one.pending),
    sum((one) => one.dead),
    sum((one) => one.cancelled),
  ];
  const lostRaces = keys.length - pending - dead - cancelled;
  assert(lostRaces >= 0, "a group rescues no more jobs than it names");
  return { pending, dead, cancelled, lostRaces };
}

type Counts = Omit<Rescued, "lostRaces">;

async function rescueGroup(
  writer: Pick<Database, "write">,
  keys: readonly RunningKey[],
  retention: Retention,
  limited: boolean,
): Promise<Counts> {
  if (keys.length === 0) return { pending: 0, dead: 0, cancelled: 0 };
  await writer.write(insertRescuedDeadLettersSql(keys));
  const dead = await writer.write(rescueDeadSql(keys, retention));
  const cancelled = await writer.write(rescueCancelledSql(keys, retention));
  const pending = await writer.write(rescuePendingSql(keys, limited));
  return { pending, dead, cancelled };
}
