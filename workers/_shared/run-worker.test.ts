/** However a worker fails, its log has nothing of what it choked on. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const SECRET = "s3cretValue";

const FAILURES = {
  "a JSON parse error": `JSON.parse('{"token": ${SECRET}}')`,
  "an invalid URL": `new URL("http://user:${SECRET}@:x")`,
  "a driver's error": `(() => { throw Object.assign(new Error("near '${SECRET}'"), { code: "ER_PARSE_ERROR", sql: "SELECT '${SECRET}'" }); })()`,
  "a thrown object": `(() => { throw { message: "${SECRET}", stack: "${SECRET}", code: "${SECRET}" }; })()`,
  "an error with causes": `(() => { throw new AggregateError([new Error("${SECRET}")], "${SECRET}", { cause: "${SECRET}" }); })()`,
  "a rejection that nobody waits for": `(void Promise.reject(new Error("${SECRET}")), await new Promise(() => {}))`,
  "an error in a timer": `(setTimeout(() => { throw new Error("${SECRET}"); }), await new Promise(() => {}))`,
};

for (const [what, expression] of Object.entries(FAILURES))
  test(`${what} ends the process with a line that says its class only`, () => {
    const script = `
      import { runWorker } from "#workers/_shared/run-worker.ts";
      const env = { LOG_LEVEL: { kind: "choice", choices: ["info"], default: "info" } };
      await runWorker("failing", env, async () => { ${expression}; return 0; });
    `;
    const run = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
      cwd: new URL("../../", import.meta.url),
      encoding: "utf8",
      timeout: 20_000,
    });
    assert.equal(run.status, 1, run.stderr);
    assert.doesNotMatch(run.stdout + run.stderr, new RegExp(SECRET, "i"));
    const line = JSON.parse(run.stdout.trim().split("\n").at(-1) ?? "");
    assert.equal(line.level, "error");
    assert.match(line.error, /^(SyntaxError|TypeError|Error|object|AggregateError)$/);
  });
