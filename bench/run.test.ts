import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { formatTable } from "./table.ts";

function run(...args: string[]) {
  const script = join(import.meta.dirname, "run.ts");
  return spawnSync(process.execPath, [script, ...args], { encoding: "utf8", timeout: 30_000 });
}

test("an unknown scenario is refused with one line that lists those that exist", () => {
  for (const args of [["p99"], [], ["p0", "p8"], ["constructor"]]) {
    const { status, stdout, stderr } = run(...args);
    assert.equal(status, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /^bench: .*p0, .*p8, p9(, [a-z]+)*\n$/);
  }
});

test("an unknown option is refused with one line that says how it is used", () => {
  const { status, stderr } = run("p0", "--jsn", "x");
  assert.equal(status, 2);
  assert.match(stderr, /^bench: usage: npm run bench -- <scenario> \[--json FILE\] .*\n$/);
});

test("an option that the scenario does not take is refused with one line that says which it takes", () => {
  const { status, stderr } = run("p8", "--quick");
  assert.equal(status, 2);
  assert.equal(stderr, "bench: p8 does not take --quick; it takes none\n");
  assert.match(run("p6", "--delay", "50").stderr, /^bench: p6 does not take --delay; .* --rounds /);
});

test("a table has aligned columns, numbers to the right", () => {
  const rows = [
    ["case", "ms"],
    ["a", "1.5 ms"],
    ["longer", "120.0 ms"],
  ];
  assert.equal(
    formatTable(rows),
    ["case          ms", "──────  ────────", "a         1.5 ms", "longer  120.0 ms"].join("\n"),
  );
});
