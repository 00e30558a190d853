/** docs/operations.md says nothing that nobody has tried: its faults, tests, metrics and commands exist. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { jobIdToBytes, makeJobId, makeTaskId, partitionOfJob } from "#core/domain/ids.ts";
import { COUNTERS, GAUGES, LAG_METRICS } from "#core/ports/metrics.ts";

const ROOT = resolve(import.meta.dirname, "..", "..");
const PAGE = readFileSync(resolve(ROOT, "docs/operations.md"), "utf8");
const PROSE = PAGE.replace(/^```[\s\S]*?^```/gm, "");

function sources(pattern: string): string {
  const files = globSync(pattern, { cwd: ROOT, exclude: ["**/node_modules/**", "cdk.out/**"] });
  assert.ok(files.length > 0, pattern);
  return files.map((file) => readFileSync(resolve(ROOT, file), "utf8")).join("\n");
}

/** All matches of the first group, each once. */
function namesOf(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ""))];
}

test("every fault that it names is in the matrix", () => {
  const known = new Set(namesOf(sources("test/faults/faults/*.ts"), /\bid: "(F\d+)"/g));
  const named = namesOf(PROSE, /\b(F\d+)\b/g);
  assert.ok(named.length >= 20);
  assert.deepEqual(
    named.filter((id) => !known.has(id)),
    [],
  );
});

test("every test that it quotes exists under that title", () => {
  const tests = sources(
    "{core,adapters,functions,workers,local,bench,migrations,test}/**/*.test.ts",
  );
  const titles = new Set(namesOf(tests, /\b(?:test|it|describe)\(\s*"([^"]+)"/g));
  const quoted = namesOf(PROSE.replaceAll("\n", " "), /“([^”]{6,})”/g);
  assert.ok(quoted.length >= 30);
  assert.deepEqual(
    quoted.filter((title) => !titles.has(title)),
    [],
  );
});

test("every metric that it names is in the list", () => {
  const known = new Set(
    [COUNTERS, GAUGES, LAG_METRICS].flatMap((list) => Object.values(list)).map(({ name }) => name),
  );
  const named = namesOf(
    PROSE,
    /`((?:[A-Z][a-z]+){2,}\d*(?:xx)?|LagP\d\d|Ticks|Passes|Backlog|Sending|Fenced|Rescued|Dead)`/g,
  );
  const others = ["AtAndCron"];
  assert.ok(named.length >= 25);
  assert.deepEqual(
    named.filter((name) => !known.has(name) && !others.includes(name)),
    [],
  );
});

test("its command tells where a job is", () => {
  const [, command] = /```sh\n(node_modules\/\.bin\/node [\s\S]*?)```/.exec(PAGE) ?? [];
  assert.ok(command);
  const taskId = makeTaskId(0, 77, new Uint8Array(8));
  const jobId = makeJobId(Date.UTC(2026, 11, 1, 8), taskId, 0);
  const said = execFileSync("bash", ["-c", command.replace("job_…", jobId)], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const bytes = Buffer.from(jobIdToBytes(jobId)).toString("hex");
  const where = `WHERE part = ${partitionOfJob(jobId)} AND id = 0x${bytes}`;
  assert.equal(said, `2026-12-01T08:00:00.000Z ${taskId} ${where}\n`);
});
