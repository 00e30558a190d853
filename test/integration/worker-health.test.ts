/** What workers say of themselves while MySQL is away, and what they have counted: over HTTP, and in their last lines. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { openShards } from "#adapters/mysql/shards.ts";
import { pickPort } from "#local/hold-directory.ts";
import { addTask } from "#test/contract/builders.ts";
import {
  type MysqlProxy,
  makeTestDatabases,
  openProxyOf,
  type TestDatabases,
} from "#test/support/mysql.ts";
import { type OwnProcess, startTick, startWorker } from "#test/support/worker-process.ts";

const DEADLINE_MS = 30_000;
const REQUEST = { method: "POST", headers: {}, body: "", bodyBase64: null } as const;

interface Health {
  readonly status: string;
  readonly wrong: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

let databases: TestDatabases;
let proxy: MysqlProxy;
before(async () => {
  databases = await makeTestDatabases();
  proxy = await openProxyOf(databases.mysqlUrl);
});
after(async () => {
  await proxy.close();
  await databases.drop();
});

async function start(
  kind: "scheduler" | "executor",
): Promise<{ worker: OwnProcess; base: string }> {
  const port = await pickPort(0);
  const worker = startWorker(kind, {
    mysqlUrl: proxy.mysqlUrl,
    databasePrefix: databases.databasePrefix,
    env: { METRICS_PORT: String(port) },
  });
  await worker.line("started", DEADLINE_MS);
  return { worker, base: `http://127.0.0.1:${port}` };
}

/** Asks until it says so. */
async function until(base: string, what: (health: Health, status: number) => boolean) {
  const endsAt = performance.now() + DEADLINE_MS;
  for (;;) {
    // It listens some ms after it has said that it started.
    const answer = await fetch(`${base}/health`).catch(() => null);
    const health = (await answer?.json()) as Health | undefined;
    if (answer !== null && health !== undefined && what(health, answer.status)) return health;
    assert.ok(performance.now() < endsAt, `still: ${JSON.stringify(health)}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** Takes one call, and answers it when told to. */
async function openEndpoint() {
  const { promise: called, resolve: come } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    come();
    void answered.then(() => response.end("ok"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, called, answer, close };
}

const isOk = ({ status }: Health, code: number) => status === "ok" && code === 200;

async function counterOf(base: string, name: string): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`at_and_cron_${name}{`));
  assert.ok(line, `${name} is there`);
  return Number(line.split(" ").at(-1));
}

/** Of the lines for CloudWatch, the sum of a metric. */
function saidOf({ lines }: OwnProcess, name: string): number {
  const values = lines.map((line) =>
    line.includes('"_aws"') ? JSON.parse(line)[name] : undefined,
  );
  return values.reduce((sum: number, value) => sum + Number(value ?? 0), 0);
}

test("a scheduler without its database says since when, what it means, and is well again by itself", async () => {
  const { worker, base } = await start("scheduler");
  await using _ = worker;
  await until(base, isOk);
  proxy.pause();
  const { wrong } = await until(base, ({ status }, code) => status === "wrong" && code === 503);
  assert.match(
    wrong.join("\n"),
    /^scheduler tick fails since 20\S+Z \(.*MySQL.*\): no jobs are made here/,
  );
  proxy.resume();
  await until(base, isOk);
  assert.ok((await counterOf(base, "ticks_total")) > 0);
  worker.signal("SIGTERM");
  assert.equal((await worker.ended(DEADLINE_MS)).code, 0);
  assert.ok(saidOf(worker, "Ticks") > 0, "counted in its last line");
});

for (const kind of ["scheduler", "executor"] as const)
  test(`${kind}: without a database from the start it lives and is not ready; it is once it has worked, and stays so`, async () => {
    proxy.pause();
    const { worker, base } = await start(kind);
    await using _ = worker;
    const readyOf = async () => (await fetch(`${base}/ready`)).status;
    await until(base, ({ status }, code) => status === "wrong" && code === 503);
    assert.equal(await readyOf(), 503);
    proxy.resume();
    await until(base, isOk);
    assert.equal(await readyOf(), 200);
    proxy.pause();
    await until(base, ({ status }, code) => status === "wrong" && code === 503);
    assert.equal(await readyOf(), 200);
    proxy.resume();
    worker.signal("SIGTERM");
    assert.equal((await worker.ended(DEADLINE_MS)).code, 0);
  });

test("an executor without its database starts no call, says so, keeps what it cannot write, and goes on", async () => {
  const endpoint = await openEndpoint();
  const { worker, base } = await start("executor");
  await using _ = worker;
  await until(base, isOk);
  const shards = openShards(databases);
  const [shard] = shards.all();
  assert.ok(shard);
  const version = { request: { ...REQUEST, url: endpoint.url } };
  const due = { priority: "critical", nextRunAtMs: Date.now() + 500 } as const;
  const store = { shard } as Parameters<typeof addTask>[0];
  await addTask(store, { task: due, version });
  await endpoint.called;
  proxy.pause();
  endpoint.answer();
  const { wrong } = await until(
    base,
    (health, code) =>
      code === 503 &&
      health.figures.outboxWaiting === 1 &&
      health.wrong.some((each) => each.startsWith("no call starts")) &&
      health.wrong.some((each) => each.startsWith("writing results again fails")),
  );
  const text = wrong.join("\n");
  for (const said of [
    /^lease renewal fails since 20\S+Z .*the reconciler gives the jobs to others/m,
    /^writing results again fails since .*written when the database takes them/m,
    /^polling fails since .*no job is claimed/m,
  ])
    assert.match(text, said);
  assert.ok((await counterOf(base, "poll_age_seconds")) >= 2);
  proxy.resume();
  await until(base, (health, code) => isOk(health, code) && health.figures.outboxWaiting === 0);
  for (const name of ["claimed_total", "sent_total", "results_2xx_total"])
    assert.equal(await counterOf(base, name), 1, name);
  worker.signal("SIGTERM");
  assert.equal((await worker.ended(DEADLINE_MS)).code, 0);
  for (const name of ["Claimed", "Sent", "Results2xx", "FirstCalls"])
    assert.equal(saidOf(worker, name), 1, name);
  await shards.close();
  endpoint.close();
});

test("a reconciler tells that it has no database, and counts whom it fences", async () => {
  const port = await pickPort(0);
  const base = `http://127.0.0.1:${port}`;
  await using worker = startWorker("executor", databases);
  await worker.line("started", DEADLINE_MS);
  await using _ = startTick("reconciler", {
    mysqlUrl: proxy.mysqlUrl,
    databasePrefix: databases.databasePrefix,
    env: { METRICS_PORT: String(port) },
  });
  await until(base, isOk);
  proxy.pause();
  const { wrong } = await until(base, ({ status }, code) => status === "wrong" && code === 503);
  assert.match(
    wrong.join("\n"),
    /^the database of shard 0 is away since 20\S+Z: no executor is fenced/,
  );
  proxy.resume();
  await until(base, isOk);
  worker.signal("SIGKILL");
  await worker.ended(DEADLINE_MS);
  const endsAt = performance.now() + DEADLINE_MS;
  while ((await counterOf(base, "fenced_total")) === 0) {
    assert.ok(performance.now() < endsAt, "nobody is fenced");
    await new Promise((wake) => setTimeout(wake, 100));
  }
  assert.equal(await counterOf(base, "fenced_total"), 1);
  assert.ok((await counterOf(base, "passes_total")) > 0);
  assert.ok((await counterOf(base, "passes_failed_total")) > 0);
});
