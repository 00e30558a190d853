import assert from "node:assert/strict";
import { after, test } from "node:test";
import { types } from "cassandra-driver";
import { openHistory } from "#adapters/cassandra/history-store.ts";
import { insertParams, statementsFor } from "#adapters/cassandra/rows.ts";
import { jobIdToBytes } from "#core/domain/ids.ts";
import { makeTestKeyspace } from "#test/support/cassandra.ts";
import { entryOf, finishedJob, makeOwner } from "./history-entries.ts";
import { historyStoreContract } from "./history-store.contract.ts";

const { contactPoints, keyspace, run } = await makeTestKeyspace();
const store = openHistory({ contactPoints, keyspace });
after(() => store.close());

historyStoreContract("Cassandra", async () => ({ store, nowMs: Date.now() }));

test("a row expires 30 days after it was written, and is written as of when it was to be archived", async () => {
  const owner = makeOwner(Date.now() - 86_400_000);
  const dueAtMs = Date.now() - 1_000;
  const job = finishedJob(owner, Date.now() - 60_000, { claimNo: 4, dueAtMs });
  await store.write([entryOf(job)]);
  const rows = await run(
    "SELECT TTL(document) AS ttl, WRITETIME(document) AS written FROM {ks}.jobs_by_task WHERE job_id = ? ALLOW FILTERING",
    [Buffer.from(jobIdToBytes(job.id))],
  );
  assert.equal(rows.length, 1);
  const { ttl, written } = rows[0] as { ttl: number; written: { toNumber(): number } };
  assert(ttl > 2_592_000 - 60 && ttl <= 2_592_000, `expires in ${ttl} s`);
  assert.equal(written.toNumber(), dueAtMs * 1_000 + 4);
});

test("a row that was written as of its end, as releases before did, gives way to the next end", async () => {
  const nowMs = Date.now();
  const owner = makeOwner(nowMs - 20 * 86_400_000);
  const scheduledAtMs = nowMs - 15 * 86_400_000;
  const dead = finishedJob(owner, scheduledAtMs, {
    status: "dead",
    claimNo: 5,
    dueAtMs: nowMs - 60_000,
  });
  const params = insertParams(entryOf(dead), nowMs).slice(0, -1);
  const before = types.Long.fromNumber((dead.finishedAtMs ?? 0) * 1_000 + dead.claimNo);
  await run(statementsFor("ks").insert.replace("ks.", "{ks}."), [...params, before]);
  assert.deepEqual(await store.find(owner.tenantId, dead.id), entryOf(dead));
  const retried = finishedJob(owner, scheduledAtMs, { claimNo: 6, finishedAtMs: nowMs - 30_000 });
  await store.write([entryOf(retried)]);
  await store.write([entryOf(dead)]);
  assert.deepEqual(await store.find(owner.tenantId, dead.id), entryOf(retried));
});

test("a list goes on where the bound of rows to pass over has stopped it", async () => {
  const owner = makeOwner(Date.now() - 40 * 86_400_000);
  const dead = entryOf(finishedJob(owner, Date.now() - 5_000_000, { status: "dead" }));
  const others = Array.from({ length: 2_400 }, (_, index) =>
    entryOf(finishedJob(owner, Date.now() - 1_000 * (index + 1))),
  );
  await store.write([...others, dead]);
  const filter = { statuses: ["dead" as const], fromMs: null, toMs: null };
  const first = await store.listByTask(owner.tenantId, owner.taskId, filter, null, 10);
  assert.deepEqual(first.entries, []);
  assert(first.nextBefore !== null);
  const next = await store.listByTask(owner.tenantId, owner.taskId, filter, first.nextBefore, 10);
  assert.deepEqual(next, { entries: [dead], nextBefore: null });
});
