/** Gives back what was claimed and not sent: one statement for a group, and their places in line where jobs came from lines. */
import { assert } from "#core/domain/assert.ts";
import type { Retention } from "#core/domain/job.ts";
import type { GivenBack, Recorded } from "#core/ports/job-store.ts";
import { keepLines, splitLimited } from "./keep-lines.ts";
import { giveBackJobsSql } from "./statements/give-back-jobs.ts";
import type { Database } from "./transaction.ts";

export async function giveBackJobs(
  database: Database,
  held: readonly GivenBack[],
  retention: Retention,
): Promise<Recorded> {
  const { limited, free } = splitLimited(held);
  let written = 0;
  if (free.length > 0) written += await database.write(giveBackJobsSql(free, retention));
  if (limited.length > 0) {
    written += await keepLines(database, limited, true, (session) =>
      session.write(giveBackJobsSql(limited, retention, true)),
    );
  }
  assert(written <= held.length, "a group gives back no more jobs than it names");
  return { written, lostRaces: held.length - written };
}
