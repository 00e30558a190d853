import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";

test("fields outside the allow list, and what is neither text nor number, never reach the log", () => {
  const script = `
    import { openLogger } from "#adapters/system/logger.ts";
    const raw = new Error("s3cret");
    const fields = { code: "x", secret: "s3cret", err: raw, message: raw, error: { text: "s3cret" }, counters: { n: 1, m: "s3cret" } };
    const logger = openLogger({ service: "t", level: "info" });
    logger.info("hello", fields);
    logger.error(raw, { at: "x".repeat(1_000) });
  `;
  const run = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
    cwd: new URL("../../", import.meta.url),
    encoding: "utf8",
  });
  assert.equal(run.status, 0, run.stderr);
  const [line, cut] = run.stdout
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text));
  assert.partialDeepStrictEqual(line, { msg: "hello", code: "x", counters: { n: 1 } });
  assert.equal(cut.at.length, 500);
  assert.doesNotMatch(run.stdout, /s3cret/);
});

test("a disk that is full costs lines, not the process, and no memory without end", () => {
  const script = `
    import { openLogger } from "#adapters/system/logger.ts";
    const logger = openLogger({ service: "t", level: "info" });
    for (let i = 0; i < 50_000; i++) logger.info("x".repeat(500));
    process.stderr.write(String(process.memoryUsage().rss));
  `;
  const full = openSync("/dev/full", "w");
  const run = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
    cwd: new URL("../../", import.meta.url),
    encoding: "utf8",
    stdio: ["ignore", full, "pipe"],
    timeout: 20_000,
  });
  closeSync(full);
  assert.deepEqual([run.status, run.signal], [0, null], run.stderr);
  assert.ok(Number(run.stderr) < 150 * 1024 * 1024, `${run.stderr} bytes`);
});
