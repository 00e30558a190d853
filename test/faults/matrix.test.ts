/** The matrix and the page about it say the same. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { MATRIX } from "./matrix.ts";

const ROOT = resolve(import.meta.dirname, "..", "..");
const page = readFileSync(resolve(ROOT, "docs", "reliability.md"), "utf8");

test("faults are numbered in their order", () => {
  assert.deepEqual(
    MATRIX.map(({ id }) => id),
    MATRIX.map((_, i) => `F${i + 1}`),
  );
});

test("each has a row with the command that repeats it, what it breaks, and that it holds", () => {
  for (const { id, title, breaks } of MATRIX) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`npm run faults -- ${id}\` |`));
    assert.ok(row !== undefined, `a row of ${id}`);
    assert.ok(row.includes(`${title}: ${breaks}`), row);
    assert.match(row, /\| yes \|$/, `${id} holds`);
  }
});
