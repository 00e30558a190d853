/** pg-boss on PostgreSQL: batches of 500 fetched and completed in one statement each, as many loops as keep every slot busy. */
import pg from "pg";
import PgBoss from "pg-boss";
import { atOnce, call, measure, server } from "./leg.mjs";

const BATCH = 500;
const LOOPS = 4;
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

/** Calls a batch, `atOnce ÷ LOOPS` at a time. */
async function callAll(batch) {
  const queue = batch.values();
  const lane = async () => {
    for (const job of queue) await call(job.data.i);
  };
  await Promise.all(Array.from({ length: atOnce / LOOPS }, lane));
}

async function drain() {
  const loop = async () => {
    for (;;) {
      const batch = await boss.fetch("calls", { batchSize: BATCH });
      if (batch.length === 0) return;
      await callAll(batch);
      await boss.complete(
        "calls",
        batch.map(({ id }) => id),
      );
    }
  };
  await Promise.all(Array.from({ length: LOOPS }, loop));
}

await measure(fill, drain);
