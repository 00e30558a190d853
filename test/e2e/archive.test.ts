/**
 * The life of a job across both stores, as a tenant sees it: gateway, scheduler, executor and archiver as processes, on a real MySQL
 * and a real Cassandra.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { openHistory } from "#adapters/cassandra/history-store.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { ArchiveRange } from "#core/ports/job-store.ts";
import { archiveJobs } from "#core/services/archiver/archive-jobs.ts";
import { migrateCassandra } from "#migrations/migrate-cassandra.ts";
import { type ApiClient, openClient } from "#test/support/api-client.ts";
import { createBulkJobs } from "#test/support/bulk-jobs.ts";
import { makeTestKeyspace, ownCassandra } from "#test/support/cassandra.ts";
import { eventually } from "#test/support/eventually.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";
import { addTenant, type OwnGateway, startGateway } from "#test/support/own-gateway.ts";
import { openSink, type Sink } from "#test/support/sink.ts";
import { startTick, startWorker } from "#test/support/worker-process.ts";

const DONE_MS = 60_000;
/** Archived a moment after its end; nothing is paused or resumed here. */
const SHORT = { ARCHIVE_SUCCEEDED_AFTER_SECONDS: "1", ARCHIVE_ENDED_AFTER_SECONDS: "1" };
const LISTED_JOBS = 2_000;
const READERS = 20;
/** How long Cassandra is away; ARCHIVE_AWAY_SECONDS=60 lengthens it. */
const AWAY_MS = Number(process.env.ARCHIVE_AWAY_SECONDS ?? 10) * 1_000;
/** History's own deadline is 1.5 s, and a loaded machine adds to it. */
const ANSWER_MS = 4_000;

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field, and a missing one fails the test.
type Json = any;

const keyspace = await makeTestKeyspace();
let databases: TestDatabases;
let sink: Sink;
let gateway: OwnGateway;
let acme: ApiClient;

before(async () => {
  databases = await makeTestDatabases();
  sink = await openSink();
  gateway = await startGateway(databases, keyspace.env);
  acme = await clientOf(databases, gateway);
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await sink.close();
  await databases.drop();
});

/** A tenant of its own at the API of these databases. */
async function clientOf(own: TestDatabases, { url }: OwnGateway): Promise<ApiClient> {
  return openClient(url, (await addTenant(own, "acme")).key);
}

async function create(path: string, more: object = {}, api = acme): Promise<string> {
  const answer = await api("POST", "/v1/tasks", {
    schedule: { type: "at", at: new Date().toISOString() },
    request: { url: sink.url + path, body: "b".repeat(300) },
    retry: { maxAttempts: 1 },
    ...more,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

async function get(path: string, api = acme): Promise<Json> {
  const answer = await api("GET", path);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const jobsLeft = async ({ run } = databases) =>
  Number((await run("SELECT COUNT(*) AS n FROM jobs"))[0]?.n);

/** Every job of a task, page by page; each of them once, or it fails. */
async function listAll(
  taskId: string,
  query: string,
  onPage = () => {},
  api = acme,
): Promise<Json[]> {
  const items: Json[] = [];
  let cursor: string | null = null;
  do {
    const next: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page: Json = await get(`/v1/tasks/${taskId}/jobs?${query}${next}`, api);
    assert.equal("historyAvailable" in page, false);
    items.push(...page.items);
    onPage();
    cursor = page.nextCursor;
  } while (cursor !== null);
  assert.equal(new Set(items.map(({ id }) => id)).size, items.length, "no job comes twice");
  return items;
}

describe("a job's life across both stores", { timeout: 120_000 }, () => {
  it("created, called, ended, archived: the same job by id and in its task's list, once each", async () => {
    await using open = new AsyncDisposableStack();
    open.use(startWorker("scheduler", { ...databases, env: SHORT }));
    open.use(startWorker("executor", { ...databases, env: SHORT }));
    const tasks = await Promise.all([create("/ok/life"), create("/status/500/life")]);
    const before = await Promise.all(
      tasks.map(async (taskId) => {
        let jobs: Json[] = [];
        await eventually(async () => {
          jobs = await listAll(taskId, "limit=10");
          assert.match(jobs.at(0)?.status ?? "none", /succeeded|dead/);
        });
        const [job] = jobs;
        assert.equal(jobs.length, 1);
        assert.deepEqual((await get(`/v1/jobs/${job.id}`)).attempts, job.attempts);
        return job;
      }),
    );
    assert.deepEqual(
      before.map(({ status }) => status),
      ["succeeded", "dead"],
    );
    // By then both are to be archived.
    await setTimeout(1_000);
    await using archiver = startTick("archiver", { ...databases, env: keyspace.env });
    await eventually(async () => assert.equal(await jobsLeft(), 0));
    for (const [at, taskId] of tasks.entries()) {
      const job = before[at];
      assert.deepEqual(await listAll(taskId, "limit=10"), [job]);
      assert.deepEqual(await listAll(taskId, `limit=10&status=${job.status}`), [job]);
      assert.deepEqual(await listAll(taskId, "limit=10&status=pending"), []);
      assert.deepEqual(await listAll(taskId, `limit=10&to=${job.scheduledAt}`), []);
      const found = await get(`/v1/jobs/${job.id}`);
      const { bodySha256, ...request } = found.request;
      assert.match(bodySha256, /^[0-9a-f]{64}$/);
      assert.deepEqual({ ...found, request }, { ...job, request: { ...job.request, body: null } });
    }
    assert.equal((await databases.run("SELECT 1 FROM dead_letters")).length, 0);
    assert.deepEqual(
      archiver.lines.slice(1).filter((line) => /"level":"(warn|error)/.test(line)),
      [],
    );
  });

  it(`a list read by ${READERS} readers while the archiver moves ${LISTED_JOBS} jobs has each job once`, async () => {
    const taskId = await create("/ok/list", { schedule: { type: "every", seconds: 86_400 } });
    const { run } = databases;
    // Only the new task is there to get jobs.
    await run(
      `DELETE FROM tasks WHERE name <> (SELECT name FROM (SELECT name FROM tasks ORDER BY id DESC LIMIT 1) AS t)`,
    );
    const fromMs = Date.now() - LISTED_JOBS * 1_000;
    const jobs = { run, status: "succeeded", perTask: LISTED_JOBS, fromMs, stepMs: 1_000 } as const;
    await createBulkJobs({ ...jobs, dueInMs: -1 });
    const readers = new Readers(taskId);
    const archived = moveSlowly(200, () => readers.pagesMore(READERS)).finally(() => readers.end());
    await Promise.all([archived, readers.run()]);
    assert.equal(await archived, LISTED_JOBS);
    assert.equal(await jobsLeft(), 0);
    assert.ok(readers.lists >= READERS, `${readers.lists} lists were read`);
  });

  /** The archiver with small groups, waiting on both sides of each copy, so that readers meet every state. */
  async function moveSlowly(groupMax: number, wait: () => Promise<void>): Promise<number> {
    const shards = openShards(databases);
    const history = openHistory(keyspace);
    const [shard] = shards.all();
    assert(shard !== undefined);
    const jobs = {
      ...shard.jobs,
      listArchivable: (limit: number, ...rest: [number, (readonly ArchiveRange[])?]) =>
        shard.jobs.listArchivable(Math.min(limit, groupMax), ...rest),
    };
    const write = async (entries: readonly HistoryEntry[]) => {
      await wait();
      await history.write(entries);
      await wait();
    };
    const deps = { shard: { ...shard, jobs }, history: { write }, clock: systemClock };
    const rest = { random: systemRandom, logger: SILENT, sha256: () => "0".repeat(64) };
    try {
      return (await archiveJobs({ ...deps, ...rest }, performance.now() + DONE_MS)).moved;
    } finally {
      await shards.close();
      await history.close();
    }
  }
});

/** Read a task's whole list over and over, page by page, until told that all has moved. */
class Readers {
  lists = 0;
  #pages = 0;
  #moving = true;
  readonly #taskId: string;
  readonly #waiting = new Set<() => void>();

  constructor(taskId: string) {
    this.#taskId = taskId;
  }

  async run(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: READERS }, (_, reader) => this.#read(reader)));
    } finally {
      this.end();
    }
  }

  /** Resolves when so many pages more have been read. */
  pagesMore(count: number): Promise<void> {
    const until = this.#pages + count;
    return new Promise((resolve) => {
      const look = () => {
        if (this.#pages < until && this.#moving) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
    });
  }

  end(): void {
    this.#moving = false;
    this.#wake();
  }

  async #read(reader: number): Promise<void> {
    do {
      const query = `limit=${100 + reader}&status=succeeded`;
      const listed = await listAll(this.#taskId, query, () => this.#pageRead());
      assert.equal(listed.length, LISTED_JOBS, `reader ${reader}`);
      this.lists++;
    } while (this.#moving);
  }

  #pageRead(): void {
    this.#pages++;
    this.#wake();
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}

const SILENT = { info() {}, warn() {}, error() {} };

describe("Cassandra killed for a while", { timeout: 240_000 }, () => {
  it("nothing is deleted, jobs keep firing, readers are told, and the backlog drains when it is back", async () => {
    const cassandra = await ownCassandra("group");
    const { contactPoints } = cassandra;
    await migrateCassandra({ contactPoints });
    const others = await makeTestDatabases();
    await using open = new AsyncDisposableStack();
    open.defer(() => others.drop());
    const env = { CASSANDRA_CONTACT_POINTS: contactPoints, ...SHORT };
    const own = { ...others, env };
    const away = await clientOf(others, open.use(await startGateway(others, env)));
    open.use(startWorker("scheduler", { ...others, env: SHORT }));
    open.use(startWorker("executor", { ...others, env: SHORT }));
    const calls = () => sink.calls().filter(({ path }) => path === "/ok/away");
    const taskId = await create("/ok/away", { schedule: { type: "every", seconds: 1 } }, away);
    await sink.until(() => calls().length >= 3, DONE_MS);
    // By then some are to be archived.
    await setTimeout(1_500);
    const first = startTick("archiver", own);
    await first.line("finished jobs moved to history", DONE_MS);
    await first[Symbol.asyncDispose]();
    const [oldest] = (await get(`/v1/tasks/${taskId}/jobs?limit=200`, away)).items.slice(-1);
    const inMysql = async () =>
      (await others.run("SELECT 1 FROM jobs WHERE status = 'succeeded'")).length;

    await cassandra.kill();
    const [callsBefore, leftBefore] = [calls().length, await inMysql()];
    const endMs = performance.now() + AWAY_MS;
    while (performance.now() < endMs) {
      await using archiver = startTick("archiver", own);
      await archiver.line("archiving stopped", DONE_MS);
      await assertReadersAreTold(away, taskId, oldest.id);
      await setTimeout(500);
    }
    const fired = calls().length - callsBefore;
    assert.ok(fired >= AWAY_MS / 1_000 - 2, `${fired} calls in ${AWAY_MS} ms`);
    assert.ok((await inMysql()) >= leftBefore + fired - 2, "nothing was deleted");

    await cassandra.restart();
    await away("POST", `/v1/tasks/${taskId}/pause`);
    await using _archiver = startTick("archiver", own);
    await eventually(async () => assert.equal(await inMysql(), 0), DONE_MS);
    const jobs = await listAll(taskId, "limit=10&status=succeeded", undefined, away);
    const ids = new Set(jobs.map(({ id }) => id));
    for (const { key } of calls()) assert.ok(ids.has(key), "no job is lost");
  });

  async function assertReadersAreTold(away: ApiClient, taskId: string, archivedId: string) {
    const asked = async (path: string) => {
      const startedMs = performance.now();
      const answer = await away("GET", path);
      const tookMs = performance.now() - startedMs;
      assert.ok(tookMs <= ANSWER_MS, `${path} took ${Math.round(tookMs)} ms`);
      return answer;
    };
    const list = await asked(`/v1/tasks/${taskId}/jobs`);
    assert.deepEqual([list.status, list.body.historyAvailable], [200, false]);
    assert.ok(list.body.items.length > 0);
    assert.equal((await asked(`/v1/jobs/${list.body.items.at(-1).id}`)).status, 200);
    const absent = await asked(`/v1/jobs/${archivedId}`);
    assert.deepEqual([absent.status, absent.body.historyAvailable], [503, false]);
  }
});
