/** graphile-worker on PostgreSQL: jobs pulled 500 at a time into its local queue, completed in batches. */
import { makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { atOnce, call, measure, server } from "./leg.mjs";

const pgPool = new pg.Pool({ connectionString: server, max: 12 });
const logger = undefined;
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
await pgPool.query("TRUNCATE graphile_worker._private_jobs");

async function fill(jobs) {
  await pgPool.query(
    "SELECT graphile_worker.add_job('call', json_build_object('i', i)) FROM generate_series(0, $1 - 1) AS i",
    [jobs],
  );
  await pgPool.query("VACUUM ANALYZE graphile_worker._private_jobs");
}

async function drain() {
  const runner = await run({
    pgPool,
    preset: {
      worker: {
        concurrentJobs: atOnce,
        pollInterval: 1_000,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    noHandleSignals: true,
    taskList: { call: ({ i }) => call(i) },
  });
  for (;;) {
    const { rows } = await pgPool.query("SELECT 1 FROM graphile_worker._private_jobs LIMIT 1");
    if (rows.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await runner.stop();
}

await measure(fill, drain);
