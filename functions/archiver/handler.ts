/**
 * Entry point of the archiver: a Lambda function that EventBridge invokes every minute. It goes on until nothing is left to move
 * or its time is nearly out; what is left then is for the next one, which may have begun already.
 */
import { systemClock } from "#adapters/system/clock.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { readEnv } from "#adapters/system/read-env.ts";
import { retentionOf } from "#adapters/system/retention-of.ts";
import { ARCHIVE_LEFT_MS } from "#core/domain/limits.ts";
import { type ArchiverRun, runArchiver } from "#core/services/archiver/run-archiver.ts";
import { connectHistory } from "../_shared/connect-history.ts";
import { connectTick } from "../_shared/connect-tick.ts";
import { endOf, type Invocation, onEachShard } from "../_shared/on-each-shard.ts";
import { processEnv } from "../_shared/process-env.ts";
import { sayingMetrics } from "../_shared/say-metrics.ts";
import { archiverEnv } from "./env.ts";

/** For one row; nobody waits for it but the rows behind it. */
const HISTORY_WRITE_MS = 5_000;

const env = readEnv(archiverEnv, processEnv(), { ownPrefix: "CASSANDRA_" });
const { logger, metrics, shards } = await connectTick("archiver", env);

export { metrics };

const deps = {
  history: connectHistory(env, HISTORY_WRITE_MS),
  clock: systemClock,
  random: systemRandom,
  retention: retentionOf(env),
  logger,
  sha256: systemDigest.sha256Hex,
};

let last: ArchiverRun | null = null;

/** What is wrong, for whoever asks where it is one process: on one machine. */
export function wrong(): string[] {
  if (last === null || last.end !== "stopped") return [];
  const left = last.waiting === null ? "" : ` (${last.waiting} are left)`;
  return [
    `the last run ended early${left}: MySQL or Cassandra is away or busy; finished jobs stay in MySQL, and the next run goes on`,
  ];
}

export async function handler(_event: unknown, invocation: Invocation): Promise<void> {
  const endMs = endOf(invocation, systemClock, ARCHIVE_LEFT_MS);
  await sayingMetrics({ clock: systemClock, logger, metrics }, () =>
    onEachShard(shards, async (shard) => countRun(await runArchiver({ ...deps, shard }, endMs))),
  );
}

function countRun(run: ArchiverRun): void {
  const { moved, kept, end, purgedTasks, waiting } = run;
  last = run;
  metrics.count("archive_runs", 1);
  metrics.count("archived_rows", moved);
  metrics.count("archive_kept", kept);
  metrics.count("purged_tasks", purgedTasks);
  if (end === "stopped") metrics.count("archive_stopped", 1);
  if (waiting !== null) metrics.gauge("archive_backlog", waiting);
}
