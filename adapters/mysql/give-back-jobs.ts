/** Gives back what was claimed and not sent: one statement for a group, and their places in line where jobs came from lines. */
import { assert } from "#core/domain/assert.ts";
import type { Retention } from "#core/domain/job.ts";
import type { GivenBack, Recorded } from "#core/ports/job-store.ts";
import { writeKeepingLines } from "./keep-lines.ts";
import { giveBackJobsSql } from "./statements/give-back-jobs.ts";
import type { Database } from "./transaction.ts";

export async function giveBackJobs(
  database: Database,
  held: readonly GivenBack[],
  retention: Retention,
): Promise<Recorded> {
  const groups = await writeKeepingLines(database, held, (writer, group, limited) =>
    writer.write(giveBackJobsSql(group, retention, limited)),
  );
  const written = groups.reduce((sum, count) => sum + count, 0);
  assert(written <= held.length, "a group gives back no more jobs than it names");
  return { written, lostRaces: held.length - written };
}
