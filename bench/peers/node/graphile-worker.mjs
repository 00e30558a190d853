/** graphile-worker on PostgreSQL: jobs pulled 500 at a time into its local queue, completed in batches. */
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { atOnce, call, measure, server } from "./leg.mjs";

const pgPool = new pg.Pool({ connectionString: server, max: 12 });
pgPool.on("error", (error) => {
  throw error;
});
// Its own logger writes a line for each job.
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
await pgPool.query("TRUNCATE graphile_worker._private_jobs");

async function fill(jobs) {
  for (let from = 0; from < jobs; from += 1_000) {
    const count = Math.min(1_000, jobs - from);
    await utils.addJobs(
      Array.from({ length: count }, (_, i) => ({ identifier: "call", payload: { i: from + i } })),
    );
  }
  await pgPool.query("VACUUM ANALYZE graphile_worker._private_jobs");
}

async function drain() {
  const runner = await run({
    pgPool,
    logger,
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
