/** BullMQ on Redis: one worker, auto-pipelining, finished jobs kept. */
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { atOnce, call, countdown, measure, server } from "./leg.mjs";

const connect = () => new Redis(server, { maxRetriesPerRequest: null, enableAutoPipelining: true });
const queue = new Queue("calls", { connection: connect() });
await queue.obliterate({ force: true });

// Its worker lives as long as the process, and sleeps while the queue is filled.
let countOne = () => {};
const worker = new Worker("calls", ({ data }) => call(data.i), {
  connection: connect(),
  concurrency: atOnce,
  autorun: false,
});
worker.on("completed", () => countOne());
worker.on("failed", (_, error) => {
  throw error;
});
await worker.waitUntilReady();

async function fill(jobs) {
  if (worker.isRunning()) await worker.pause();
  for (let from = 0; from < jobs; from += 1_000) {
    const count = Math.min(1_000, jobs - from);
    await queue.addBulk(
      Array.from({ length: count }, (_, i) => ({ name: "call", data: { i: from + i } })),
    );
  }
}

async function drain(jobs) {
  const { all, done } = countdown(jobs);
  countOne = done;
  if (worker.isPaused()) worker.resume();
  else worker.run();
  await all;
}

await measure(fill, drain);
