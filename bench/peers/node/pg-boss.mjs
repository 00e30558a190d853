/**
 * pg-boss on PostgreSQL: batches fetched and completed in one statement each. Where endpoints answer at once, 500 a batch and few
 * loops; where they take their time, a loop for each slot with a small batch, because slots would wait for a large one's slowest.
 */
import pg from "pg";
import PgBoss from "pg-boss";
import { atOnce, call, measure, server, slow } from "./leg.mjs";

const [batchSize, loops] = slow ? [5, atOnce] : [500, 4];
const boss = new PgBoss({ connectionString: server, supervise: false, schedule: false });
boss.on("error", (error) => {
  throw error;
});
await boss.start();
// What an earlier leg has completed stays in its table otherwise.
await boss.clearStorage();
await boss.createQueue("calls");
const pool = new pg.Pool({ connectionString: server, max: 1 });

async function fill(jobs) {
  for (let from = 0; from < jobs; from += 1_000) {
    const count = Math.min(1_000, jobs - from);
    await boss.insert(
      Array.from({ length: count }, (_, i) => ({ name: "calls", data: { i: from + i } })),
    );
  }
  await pool.query("VACUUM ANALYZE pgboss.job");
}

/** Calls a batch, `atOnce ÷ loops` at a time. */
async function callAll(batch) {
  const queue = batch.values();
  const lane = async () => {
    for (const job of queue) await call(job.data.i);
  };
  await Promise.all(Array.from({ length: atOnce / loops }, lane));
}

async function drain() {
  const loop = async () => {
    for (;;) {
      const batch = await boss.fetch("calls", { batchSize });
      if (batch.length === 0) return;
      await callAll(batch);
      await boss.complete(
        "calls",
        batch.map(({ id }) => id),
      );
    }
  };
  await Promise.all(Array.from({ length: loops }, loop));
}

await measure(fill, drain);
