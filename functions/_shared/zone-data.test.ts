import assert from "node:assert/strict";
import { test } from "node:test";
import { compareZoneData } from "./zone-data.ts";

function saidOf(workers: string, here?: string): string[] {
  const said: string[] = [];
  const logger = { warn: (message: string) => void said.push(message) };
  const differs = compareZoneData({ WORKERS_ZONE_DATA: workers }, logger, here);
  assert.equal(said.length > 0, differs);
  return said;
}

test("time zone data that is not the workers' is said, with both versions", () => {
  const [line = "", ...more] = saidOf("2026c", "2026b");
  assert.match(line, /^time zone data differs: 2026b here, 2026c in the workers\. /);
  assert.deepEqual(more, []);
});

test("the same data, or none to compare with, is not worth a line", () => {
  assert.deepEqual(saidOf("2026c", "2026c"), []);
  assert.deepEqual(saidOf("", "2026c"), []);
});

test("this process's own data is what its Node carries", () => {
  assert.match(process.versions.tz ?? "", /^20\d\d[a-z]+$/);
  assert.deepEqual(saidOf(process.versions.tz ?? ""), []);
  assert.equal(saidOf("1999a").length, 1);
});
