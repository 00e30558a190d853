import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
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
