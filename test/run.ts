/**
 * `npm test [-- stage …]`: gates, unit and property tests, then what needs a real MySQL and Cassandra, which it starts and stops
 * itself (or uses those that MYSQL_URL and CASSANDRA_CONTACT_POINTS name). The last line is `N passed, N failed`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startCassandra } from "#local/cassandra-server.ts";
import { pickPort } from "#local/hold-directory.ts";
import { startMysql } from "#local/mysql-server.ts";
import type { Counts } from "./runner/count-reporter.ts";
import { runFileStage, runGateStage, type StageContext } from "./runner/run-stage.ts";
import { listStages, runDeadlineMs, type Stage } from "./runner/stages.ts";

const root = resolve(import.meta.dirname, "..");

/** Not UTC, so that a mistake with time zones cannot hide: in Node here, in MySQL through MYSQL_TZ. */
const testZone = { TZ: "America/St_Johns", MYSQL_TZ: "-03:30" };

process.exitCode = await main(process.argv.slice(2));

async function main(names: readonly string[]): Promise<number> {
  const stages = listStages(root);
  const unknown = names.filter((name) => !stages.some((stage) => stage.name === name));
  if (unknown.length > 0) {
    const known = stages.map(({ name }) => name).join(", ");
    console.error(`no such stage: ${unknown.join(", ")}; there are ${known}`);
    return 2;
  }
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => stop.abort());
  }
  const chosen = stages.filter(({ name }) => names.length === 0 || names.includes(name));
  const results = await runStages(chosen, stop.signal);
  printTable(results);
  const total = (count: (counts: Counts) => number) =>
    results.reduce((sum, { counts }) => sum + count(counts), 0);
  const passed = total((counts) => counts.passed);
  const failed = total((counts) => counts.failed);
  const skipped = total((counts) => counts.skipped);
  if (skipped > 0) console.log(`${skipped} skipped, as said above`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

type Result = { readonly name: string; readonly counts: Counts; readonly tookMs: number };

async function runStages(stages: readonly Stage[], signal: AbortSignal): Promise<Result[]> {
  const endsAt = performance.now() + runDeadlineMs;
  const results: Result[] = [];
  await using databases = lazyDatabases();
  for (const stage of stages) {
    const startedAt = performance.now();
    const deadlineMs = Math.max(0, Math.min(stage.deadlineMs, endsAt - startedAt));
    console.log(
      `\n── ${stage.name}${stage.kind === "files" ? ` (${stage.files.length} files)` : ""}`,
    );
    const counts = await runStage(stage, deadlineMs, signal, databases);
    results.push({ name: stage.name, counts, tookMs: performance.now() - startedAt });
  }
  return results;
}

async function runStage(
  stage: Stage,
  deadlineMs: number,
  signal: AbortSignal,
  databases: LazyDatabases,
): Promise<Counts> {
  // A runner that is itself under node --test must not make its own tests report to that one.
  const env: NodeJS.ProcessEnv = { ...process.env, ...testZone };
  delete env.NODE_TEST_CONTEXT;
  const context: StageContext = { root, env, deadlineMs, signal, output: "inherit" };
  if (stage.kind === "gate") return runGateStage(stage, context);
  if (!stage.needsDatabases || stage.files.length === 0) return runFileStage(stage, context);
  try {
    return await runFileStage(stage, { ...context, env: { ...env, ...(await databases.env()) } });
  } catch (error) {
    console.log(`${stage.name}: no databases to test with: ${(error as Error).message}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

type LazyDatabases = { env(): Promise<NodeJS.ProcessEnv> } & AsyncDisposable;
type Started = { stop(): Promise<void> };

/** One server of each kind for all stages, started side by side when the first asks; their data is thrown away with them. */
function lazyDatabases(): LazyDatabases {
  let env: Promise<NodeJS.ProcessEnv> | undefined;
  const started: Started[] = [];
  const dir = mkdtempSync(join(tmpdir(), "test-databases-"));
  const onProgress = (line: string) => console.log(line);
  const mysql = async () => {
    const own = { dir: join(dir, "mysql"), port: await pickPort(0), perf: true };
    const server = await startMysql({ ...own, env: { ...process.env, ...testZone }, onProgress });
    started.push(server);
    return server.url;
  };
  const cassandra = async () => {
    const own = { dir: join(dir, "cassandra"), port: await pickPort(0) };
    const server = await startCassandra({ ...own, onProgress });
    started.push(server);
    return server.contactPoints;
  };
  const start = async () => {
    const both = await Promise.allSettled([mysql(), cassandra()]);
    const [MYSQL_URL, CASSANDRA_CONTACT_POINTS] = both.map((each) => {
      if (each.status === "rejected") throw each.reason;
      return each.value;
    });
    return { MYSQL_URL, CASSANDRA_CONTACT_POINTS };
  };
  return {
    env: () => {
      env ??= start();
      return env;
    },
    [Symbol.asyncDispose]: async () => {
      await env?.catch(() => {});
      await Promise.allSettled(started.map((server) => server.stop()));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function printTable(results: readonly Result[]): void {
  console.log("");
  for (const { name, counts, tookMs } of results) {
    const { passed, failed, skipped, skips = [] } = counts;
    const seconds = `${(tookMs / 1000).toFixed(1)} s`;
    const words =
      passed + failed + skipped === 0
        ? "no tests yet"
        : `${passed} passed, ${failed} failed, ${skipped} skipped`;
    console.log(`${name.padEnd(12)} ${seconds.padStart(8)}  ${words}`);
    for (const skip of skips) console.log(`${" ".repeat(23)}skipped: ${skip}`);
  }
  console.log("");
}
