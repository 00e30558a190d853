/** History while Cassandra is away, killed, frozen or silent: every verb ends in time, and works again by itself. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { after, test } from "node:test";
import { openHistory } from "#adapters/cassandra/history-store.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { type JobId, makeJobId } from "#core/domain/ids.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import { pickPort } from "#local/hold-directory.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";
import { entryOf, finishedJob, makeOwner } from "#test/contract/history-entries.ts";
import { ownCassandra } from "#test/support/cassandra.ts";
import { eventually } from "#test/support/eventually.ts";
import { openTcpProxy } from "#test/support/tcp-proxy.ts";

/** What a caller waits at most: the store's own deadline is 1.5 s, and a loaded machine adds to it. */
const VERB_MS = 4_000;
const BACK_MS = 15_000;
const STILL_MS = 5_000;
const KEYSPACE = "away";
const ALL = { statuses: null, fromMs: null, toMs: null };
const nowMs = Date.now();
const owner = makeOwner(nowMs - 86_400_000);

const cassandra = await ownCassandra("group");
await migrateCassandra({ contactPoints: cassandra.contactPoints, keyspace: KEYSPACE });

function open(contactPoints: string): HistoryStore {
  const store = openHistory({ contactPoints, keyspace: KEYSPACE });
  after(() => store.close());
  return store;
}

/** A stop reaches a process at once, and each of its threads when that next runs or is interrupted: until then one may answer. */
async function standsStill(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`);
  const states = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/status`, "utf8")),
  );
  return states.every((status) => /^State:\tT/m.test(status));
}

/** Every verb ends as StoreUnavailable, and in time. */
async function allRefuse(store: HistoryStore): Promise<void> {
  const id = makeJobId(nowMs, owner.taskId, 0);
  const entries = Array.from({ length: 300 }, (_, run) =>
    entryOf(finishedJob(owner, nowMs, {}, run)),
  );
  const verbs = {
    find: () => store.find(owner.tenantId, id),
    listByTask: () => store.listByTask(owner.tenantId, owner.taskId, ALL, null, 10),
    write: () => store.write(entries),
  };
  for (const [name, verb] of Object.entries(verbs)) {
    const startedAt = performance.now();
    await assert.rejects(verb(), StoreUnavailable);
    const tookMs = performance.now() - startedAt;
    assert(tookMs < VERB_MS, `${name} took ${Math.round(tookMs)} ms`);
  }
}

/** Asks until the store answers again. */
async function answersAgain(store: HistoryStore, id: JobId): Promise<void> {
  const endsAt = performance.now() + BACK_MS;
  for (;;) {
    try {
      await store.find(owner.tenantId, id);
      return;
    } catch (error) {
      assert(error instanceof StoreUnavailable, String((error as Error).stack));
      assert(performance.now() < endsAt, "Cassandra is back, and the store has not noticed");
    }
  }
}

test("a store opened before Cassandra is there works once it is", async () => {
  await cassandra.stop();
  const store = open(cassandra.contactPoints);
  await allRefuse(store);
  await cassandra.restart();
  const entry = entryOf(finishedJob(owner, nowMs - 60_000));
  await answersAgain(store, entry.job.id);
  await store.write([entry]);
  assert.deepEqual(await store.find(owner.tenantId, entry.job.id), entry);
});

test("killed under writes: they end in time, what was acknowledged is there after", async () => {
  const store = open(cassandra.contactPoints);
  const writers = makeOwner(nowMs - 86_400_000);
  const acknowledged: JobId[] = [];
  let killed: Promise<void> | undefined;
  let killedAt = Number.POSITIVE_INFINITY;
  let failure: unknown;
  for (let batch = 0; failure === undefined && batch < 500; batch++) {
    const entries = Array.from({ length: 100 }, (_, index) =>
      entryOf(finishedJob(writers, nowMs - 1_000 * (batch * 100 + index))),
    );
    if (batch === 5) {
      killedAt = performance.now();
      killed = cassandra.kill();
    }
    try {
      await store.write(entries);
      acknowledged.push(...entries.map(({ job }) => job.id));
    } catch (error) {
      failure = error;
    }
  }
  assert(failure instanceof StoreUnavailable, String(failure));
  assert(performance.now() - killedAt < VERB_MS);
  await killed;
  await allRefuse(store);
  await cassandra.restart();
  assert(acknowledged.length >= 500);
  await answersAgain(store, acknowledged[0] as JobId);
  for (const id of acknowledged) {
    assert((await store.find(writers.tenantId, id)) !== null, `${id} was acknowledged and is gone`);
  }
});

test("frozen: requests under way and new ones end in time, and it works again when it thaws", async () => {
  const store = open(cassandra.contactPoints);
  const id = makeJobId(nowMs, owner.taskId, 0);
  await store.find(owner.tenantId, id);
  const pid = cassandra.pidNow();
  process.kill(pid, "SIGSTOP");
  try {
    await eventually(async () => assert.ok(await standsStill(pid)), STILL_MS);
    await allRefuse(store);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await answersAgain(store, id);
});

test("an address that takes connections and says nothing costs no more than the deadline", async () => {
  const sockets = new Set<Socket>();
  const silent: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
  });
  const port = await pickPort(0);
  await new Promise<void>((ready) => silent.listen(port, "127.0.0.1", ready));
  const store = openHistory({ contactPoints: `127.0.0.1:${port}`, keyspace: KEYSPACE });
  try {
    await allRefuse(store);
  } finally {
    const startedAt = performance.now();
    await store.close();
    assert(performance.now() - startedAt < VERB_MS);
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});

test("a connection that went half open costs one request, and the next one has a new connection", async () => {
  const [host = "", port] = cassandra.contactPoints.split(":");
  const proxy = await openTcpProxy({
    targetHost: host,
    targetPort: Number(port),
    readsStatements: false,
  });
  const store = open(`127.0.0.1:${proxy.port}`);
  const id = makeJobId(nowMs, owner.taskId, 0);
  try {
    await answersAgain(store, id);
    proxy.silenceOpenOnes();
    await assert.rejects(store.find(owner.tenantId, id), StoreUnavailable);
    assert.equal(await store.find(owner.tenantId, id), null);
  } finally {
    await store.close();
    await proxy.close();
  }
});

test("a store that is closed says so, and may be closed again", async () => {
  const store = open(cassandra.contactPoints);
  await store.find(owner.tenantId, makeJobId(nowMs, owner.taskId, 0));
  await store.close();
  await allRefuse(store);
  await store.close();
});

test("a keyspace that nobody has migrated is refused with what to do", async () => {
  const store = openHistory({ contactPoints: cassandra.contactPoints, keyspace: "nowhere" });
  after(() => store.close());
  await assert.rejects(store.find(owner.tenantId, makeJobId(nowMs, owner.taskId, 0)), {
    name: "StoreRefused",
    message: /run the migrations/,
  });
});
