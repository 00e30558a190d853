import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

test("fields outside the allow list never reach the log", () => {
  const script = `
    import { openLogger } from "#adapters/system/logger.ts";
    openLogger({ service: "t", level: "info" }).info("hello", { code: "x", secret: "s3cret", err: new Error("s3cret") });
  `;
  const run = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
    cwd: new URL("../../", import.meta.url),
    encoding: "utf8",
  });
  assert.equal(run.status, 0, run.stderr);
  const line = JSON.parse(run.stdout);
  assert.equal(line.msg, "hello");
  assert.equal(line.code, "x");
  assert.doesNotMatch(run.stdout, /s3cret/);
});
