/**
 * `npm test [-- stage …]`: gates, unit and property tests, then what needs a real MySQL, which it starts and stops itself
 * (or uses the one that MYSQL_URL names). The last line is `N passed, N failed`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
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
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

type Result = { readonly name: string; readonly counts: Counts; readonly tookMs: number };

async function runStages(stages: readonly Stage[], signal: AbortSignal): Promise<Result[]> {
  const endsAt = performance.now() + runDeadlineMs;
  const results: Result[] = [];
  await using mysql = lazyMysql();
  for (const stage of stages) {
    const startedAt = performance.now();
    const deadlineMs = Math.max(0, Math.min(stage.deadlineMs, endsAt - startedAt));
    console.log(
      `\n── ${stage.name}${stage.kind === "files" ? ` (${stage.files.length} files)` : ""}`,
    );
    const counts = await runStage(stage, deadlineMs, signal, mysql);
    results.push({ name: stage.name, counts, tookMs: performance.now() - startedAt });
  }
  return results;
}

async function runStage(
  stage: Stage,
  deadlineMs: number,
  signal: AbortSignal,
  mysql: LazyMysql,
): Promise<Counts> {
  // A runner that is itself under node --test must not make its own tests report to that one.
  const env: NodeJS.ProcessEnv = { ...process.env, ...testZone };
  delete env.NODE_TEST_CONTEXT;
  const context: StageContext = { root, env, deadlineMs, signal, output: "inherit" };
  if (stage.kind === "gate") return runGateStage(stage, context);
  if (!stage.needsMysql || stage.files.length === 0) return runFileStage(stage, context);
  try {
    const MYSQL_URL = await mysql.url();
    return await runFileStage(stage, { ...context, env: { ...env, MYSQL_URL } });
  } catch (error) {
    console.log(`${stage.name}: no MySQL to test with: ${(error as Error).message}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

type LazyMysql = { url(): Promise<string> } & AsyncDisposable;

/** One server for all stages, started when the first asks; its data is thrown away with it. */
function lazyMysql(): LazyMysql {
  let started: Promise<{ url: string; stop(): Promise<void> }> | undefined;
  const dir = mkdtempSync(join(tmpdir(), "test-mysql-"));
  const start = async () =>
    startMysql({
      dir,
      port: await freePort(),
      env: { ...process.env, ...testZone },
      perf: true,
      onProgress: (line) => console.log(line),
    });
  return {
    url: async () => {
      started ??= start();
      return (await started).url;
    },
    [Symbol.asyncDispose]: async () => {
      await started?.then(
        (server) => server.stop(),
        () => {},
      );
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A port of the loopback interface that nothing listens on now. */
function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === "object" && address) found(address.port);
        else failed(new Error("no port of the loopback interface is free"));
      });
    });
  });
}

function printTable(results: readonly Result[]): void {
  console.log("");
  for (const { name, counts, tookMs } of results) {
    const { passed, failed, skipped } = counts;
    const seconds = `${(tookMs / 1000).toFixed(1)} s`;
    const words =
      passed + failed + skipped === 0
        ? "no tests yet"
        : `${passed} passed, ${failed} failed, ${skipped} skipped`;
    console.log(`${name.padEnd(12)} ${seconds.padStart(8)}  ${words}`);
  }
  console.log("");
}
