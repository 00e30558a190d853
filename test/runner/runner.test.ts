/** The runner counts what ran, fails what did not run, and leaves no process behind. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, describe, it } from "node:test";
import { runFileStage, runGateStage, type StageContext } from "./run-stage.ts";
import { type FileStage, type GateStage, listStages } from "./stages.ts";

const repositoryRoot = resolve(import.meta.dirname, "../..");
const root = mkdtempSync(join(tmpdir(), "runner-"));
after(() => rmSync(root, { recursive: true, force: true }));

const passes = 'import { test } from "node:test";\ntest("a", () => {});\ntest("b", () => {});\n';
const fails =
  'import { test } from "node:test";\ntest("a", () => {\n  throw new Error("no");\n});\n';
const skips = 'import { test } from "node:test";\ntest("a", (t) => t.skip("not here"));\n';

/** Starts a child that runs `code`, writes down that child's pid once the child has said that it is up, and does not end. */
function hangs(code = "", detached = false): string {
  const up = `${code}; setTimeout(() => {}, 60_000); console.log("up");`;
  const options = JSON.stringify({ detached, stdio: ["ignore", "pipe", "ignore"] });
  return `import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { test } from "node:test";
test("a", () => new Promise(() => {
  const child = spawn(process.execPath, ["-e", ${JSON.stringify(up)}], ${options});
  child.stdout.once("data", () => {
    writeFileSync("pid.tmp", String(child.pid));
    renameSync("pid.tmp", "pid");
  });
}));
`;
}

function context(deadlineMs = 60_000, signal = new AbortController().signal): StageContext {
  const env: NodeJS.ProcessEnv = { ...process.env };
  delete env.NODE_TEST_CONTEXT;
  return { root, env, deadlineMs, signal, output: "ignore" };
}

/** A stage of the given sources, written to `folder` below the temporary root. */
function fileStage(folder: string, sources: readonly string[]): FileStage {
  const files = sources.map((source, index) => {
    const path = join(folder, `${index}.test.ts`);
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), source);
    return path;
  });
  const deadlines = { fileDeadlineMs: 60_000, deadlineMs: 60_000 };
  return {
    kind: "files",
    name: folder,
    files,
    concurrency: 2,
    needsDatabases: false,
    ...deadlines,
  };
}

/** Runs a stage of one file of `hangs` and stops it once its child is up; that child's pid. */
async function stopOnceUp(folder: string, source: string, graceMs = 20_000): Promise<number> {
  rmSync(join(root, "pid"), { force: true });
  const stop = new AbortController();
  const watcher = watch(root, () => {
    if (existsSync(join(root, "pid"))) stop.abort();
  });
  const stopped = { ...context(60_000, stop.signal), graceMs };
  const counts = await runFileStage(fileStage(folder, [source]), stopped);
  watcher.close();
  assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 0 });
  const pid = Number(readFileSync(join(root, "pid"), "utf8"));
  assert.ok(pid > 0);
  return pid;
}

function gateStage(exitCode: number): GateStage {
  const command = [process.execPath, "-e", `process.exit(${exitCode})`] as const;
  return { kind: "gate", name: "gate", command: [...command], deadlineMs: 60_000 };
}

describe("a stage of test files", () => {
  it("sums what passed, failed and was skipped over its files, and tells why it was skipped", async () => {
    const counts = await runFileStage(fileStage("sum", [passes, fails, skips]), context());
    assert.deepEqual(counts, { passed: 2, failed: 1, skipped: 1, skips: ["a: not here"] });
  });

  it("fails a file without a test, and one that cannot be loaded", async () => {
    const sources = [passes, "export const a = 1;\n", 'import "./missing.ts";\n'];
    const counts = await runFileStage(fileStage("empty", sources), context());
    assert.deepEqual(counts, { passed: 2, failed: 2, skipped: 0 });
  });

  it("fails when every test was skipped", async () => {
    const counts = await runFileStage(fileStage("skipped", [skips]), context());
    assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 1, skips: ["a: not here"] });
  });

  it("fails at its deadline", async () => {
    const counts = await runFileStage(fileStage("late", [hangs()]), context(500));
    assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 0 });
  });

  it("ends its processes' processes too when it is stopped", async () => {
    assert.ok(!runs(await stopOnceUp("hangs", hangs())));
  });

  it("ends one in a group of its own that does not hear of its parent's end", async () => {
    const deaf = hangs('process.on("SIGTERM", () => {})', true);
    assert.ok(!runs(await stopOnceUp("deaf", deaf, 200)));
  });

  it("gives its processes' processes the time to end what they began", async () => {
    const ended = join(root, "ended");
    const write = `require("node:fs").writeFileSync(${JSON.stringify(ended)}, "")`;
    const last = `setTimeout(() => { ${write}; process.exit(); }, 300)`;
    const slow = hangs(`process.on("SIGTERM", () => ${last})`);
    assert.ok(!runs(await stopOnceUp("slow", slow)));
    assert.ok(existsSync(ended));
  });

  it("does not start once the run was stopped", async () => {
    const counts = await runFileStage(
      fileStage("stop", [passes]),
      context(60_000, AbortSignal.abort()),
    );
    assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 0 });
  });

  it("counts nothing where there are no files", async () => {
    const counts = await runFileStage(fileStage("none", []), context());
    assert.deepEqual(counts, { passed: 0, failed: 0, skipped: 0 });
  });
});

describe("a gate", () => {
  it("counts as one passed test", async () => {
    assert.deepEqual(await runGateStage(gateStage(0), context()), {
      passed: 1,
      failed: 0,
      skipped: 0,
    });
  });

  it("counts as one failed test", async () => {
    assert.deepEqual(await runGateStage(gateStage(2), context()), {
      passed: 0,
      failed: 1,
      skipped: 0,
    });
  });

  it("fails when its command cannot be started", async () => {
    const stage: GateStage = { ...gateStage(0), command: [join(root, "missing")] };
    assert.deepEqual(await runGateStage(stage, context()), { passed: 0, failed: 1, skipped: 0 });
  });
});

describe("the list of stages", () => {
  it("puts a test of each room into the stage it belongs to", () => {
    const tree = mkdtempSync(join(root, "tree-"));
    const expected = {
      "core/domain/a.test.ts": "unit",
      "test/gates/a.test.ts": "unit",
      "a.test.ts": "unit",
      "test/contract/a.test.ts": "contract",
      "test/integration/deep/a.test.ts": "integration",
      "test/e2e/a.test.ts": "e2e",
      "test/e2e/races.test.ts": "load",
    };
    for (const path of [...Object.keys(expected), "node_modules/b/a.test.ts", ".local/a.test.ts"]) {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), passes);
    }
    const found = listStages(tree).flatMap((stage) =>
      stage.kind === "files" ? stage.files.map((path) => [path, stage.name]) : [],
    );
    assert.deepEqual(Object.fromEntries(found), expected);
    assert.equal(found.length, Object.keys(expected).length);
  });

  it("finds this file, and no file that is not there", () => {
    const files = listStages(repositoryRoot).flatMap((stage) =>
      stage.kind === "files" ? stage.files : [],
    );
    assert.ok(files.includes("test/runner/runner.test.ts"));
    assert.deepEqual(
      files.filter((path) => !existsSync(join(repositoryRoot, path))),
      [],
    );
  });
});

/** Whether a process runs; one that ended and was not waited for does not. */
function runs(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
