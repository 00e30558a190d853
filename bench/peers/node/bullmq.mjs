/** BullMQ on Redis: one worker, auto-pipelining, finished jobs kept. */
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { atOnce, call, countdown, jobs, measure, server } from "./leg.mjs";

const connect = () => new Redis(server, { maxRetriesPerRequest: null, enableAutoPipelining: true });
const queue = new Queue("calls", { connection: connect() });
await queue.obliterate({ force: true });
for (let from = 0; from < jobs; from += 1_000) {
  const count = Math.min(1_000, jobs - from);
  await queue.addBulk(
    Array.from({ length: count }, (_, i) => ({ name: "call", data: { i: from + i } })),
  );
}
await measure(async () => {
  const { all, done } = countdown();
  const worker = new Worker("calls", ({ data }) => call(data.i), {
    connection: connect(),
    concurrency: atOnce,
  });
  worker.on("completed", () => done());
  worker.on("failed", (_, error) => {
    throw error;
  });
  await all;
});
