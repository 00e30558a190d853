/**
 * Partitions that are throttled as in Amazon Keyspaces, which takes 1,000 write units a second of each and answers a write timeout
 * to the rest. No server here does, so it is the driver that answers.
 */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Client, errors, types } from "cassandra-driver";
import { StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import { type JobId, jobIdFromBytes, partsOfJobId, type TaskId } from "#core/domain/ids.ts";
import { entryOf, finishedJob, makeOwner } from "#test/contract/history-entries.ts";
import { openHistory } from "./history-store.ts";

const { ResponseError } = errors as unknown as {
  ResponseError: new (code: number, message: string) => Error;
};
const { writeTimeout, invalid } = types.responseErrorCodes;
const nowMs = Date.now();
const LATENCY_MS = 2;

/** The code of the error with which a write of the task is answered; null: it is taken. */
type Answer = (taskId: TaskId) => number | null;

function openThrottled(requestTimeoutMs: number, answer: Answer) {
  const taken = new Set<JobId>();
  const tries = { count: 0 };
  mock.method(Client.prototype, "connect", async () => {});
  mock.method(Client.prototype, "shutdown", async () => {});
  mock.method(Client.prototype, "execute", async (_query: string, params: readonly unknown[]) => {
    tries.count++;
    await new Promise((wake) => setTimeout(wake, LATENCY_MS));
    const jobId = jobIdFromBytes(params[4] as Buffer);
    const code = answer(partsOfJobId(jobId).taskId);
    if (code !== null) throw new ResponseError(code, "Operation timed out");
    taken.add(jobId);
    return { rows: [] };
  });
  const history = openHistory({ contactPoints: "127.0.0.1:9", keyspace: "k", requestTimeoutMs });
  return { history, taken, tries };
}

type Owner = ReturnType<typeof makeOwner>;

const entriesOf = (owner: Owner, count: number): HistoryEntry[] =>
  Array.from({ length: count }, (_, n) => entryOf(finishedJob(owner, nowMs - 1_000 * (n + 1))));
const newOwner = () => makeOwner(nowMs - 86_400_000);
const idsOf = (entries: readonly HistoryEntry[]) => new Set(entries.map(({ job }) => job.id));

test("a partition that is busy for a second is written in the end", async () => {
  const startedAt = performance.now();
  const { history, taken } = openThrottled(5_000, () =>
    performance.now() - startedAt < 1_000 ? writeTimeout : null,
  );
  const entries = entriesOf(newOwner(), 100);
  await history.write(entries);
  assert.deepEqual(taken, idsOf(entries));
});

test("a busy partition is given up at an entry's deadline: all else is written, and what is durable is told", async () => {
  const hot = newOwner();
  let units = 20;
  const { history, taken, tries } = openThrottled(300, (taskId) =>
    taskId === hot.taskId && units-- <= 0 ? writeTimeout : null,
  );
  const others = Array.from({ length: 50 }, newOwner).flatMap((owner) => entriesOf(owner, 4));
  const told = new Set<JobId>();
  const writing = history.write([...entriesOf(hot, 300), ...others], ({ job }) => told.add(job.id));
  await assert.rejects(writing, StoreUnavailable);
  assert.deepEqual(told, taken);
  assert.equal(taken.size, 20 + others.length);
  for (const id of idsOf(others)) assert.ok(told.has(id));
  assert.ok(tries.count < taken.size + 64 * 10, `${tries.count} tries`);
});

test("a database that is busy altogether is not asked for every partition", async () => {
  const { history } = openThrottled(200, () => writeTimeout);
  const entries = Array.from({ length: 500 }, newOwner).flatMap((owner) => entriesOf(owner, 1));
  const startedAt = performance.now();
  await assert.rejects(history.write(entries), StoreUnavailable);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 800, `${Math.round(tookMs)} ms`);
});

test("a refusal ends the write, and what is durable is told", async () => {
  const refused = newOwner();
  const { history, taken } = openThrottled(300, (taskId) =>
    taskId === refused.taskId ? invalid : null,
  );
  const told = new Set<JobId>();
  const entries = [...entriesOf(newOwner(), 100), ...entriesOf(refused, 1)];
  const rest = entriesOf(newOwner(), 400);
  const writing = history.write([...entries, ...rest], ({ job }) => told.add(job.id));
  await assert.rejects(writing, StoreRefused);
  assert.deepEqual(told, taken);
  assert.ok(taken.size >= 100 && taken.size < 300, `${taken.size} written`);
});
