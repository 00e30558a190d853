/** Every lint and boundary rule refuses its fixture, for that reason alone, and lets clean code pass. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { boundaries } from "./boundary-fixtures.ts";
import {
  gateTree,
  repositoryRoot,
  repositorySources,
  runTool,
  type TreeFiles,
} from "./gate-tree.ts";
import { cycle, logCall, styleFixtures, targets } from "./lint-fixtures.ts";

type Report = {
  readonly summary: { readonly changed: number; readonly unchanged: number };
  readonly diagnostics: readonly {
    readonly category: string;
    readonly location: { readonly path: string };
  }[];
};

type LintRun = {
  readonly status: number | null;
  readonly filesRead: number;
  readonly rules: Map<string, Set<string>>;
};

/** Runs the lint gate on `files` alone; `rules` maps each path to the last words of the categories reported for it. */
function lint(files: TreeFiles): LintRun {
  using tree = gateTree(files);
  const args = ["check", "--error-on-warnings", "--reporter=json", "--max-diagnostics=none", "."];
  const run = runTool("biome", args, tree.root);
  const report = JSON.parse(run.stdout) as Report;
  const rules = new Map<string, Set<string>>();
  for (const { category, location } of report.diagnostics) {
    const found = rules.get(location.path) ?? new Set();
    rules.set(location.path, found.add(category.slice(category.lastIndexOf("/") + 1)));
  }
  return {
    status: run.status,
    filesRead: report.summary.changed + report.summary.unchanged,
    rules,
  };
}

/** The same import written as a value import, a type import and a call: none may slip past. */
function importForms(specifier: string): readonly string[] {
  return [
    `import { a } from "${specifier}";\n\nexport const b = a;\n`,
    `import type { A } from "${specifier}";\n\nexport type B = A;\n`,
    `export const b = await import("${specifier}");\n`,
  ];
}

describe("style and correctness rules", () => {
  let run: LintRun;
  before(() => {
    run = lint({
      ...Object.fromEntries(styleFixtures.map(({ path, source }) => [path, source])),
      ...cycle,
      ...targets,
    });
  });

  for (const { rule, also, path } of styleFixtures) {
    it(`${rule} refuses ${path}`, () => {
      const expected = also === undefined ? [rule] : [rule, also];
      assert.deepEqual([...(run.rules.get(path) ?? [])].sort(), expected.sort());
    });
  }

  for (const path of Object.keys(cycle)) {
    it(`noImportCycles refuses ${path}`, () =>
      assert.deepEqual([...(run.rules.get(path) ?? [])], ["noImportCycles"]));
  }

  it("has a fixture for every rule that biome.json names", () => {
    const { linter } = JSON.parse(readFileSync(join(repositoryRoot, "biome.json"), "utf8")) as {
      linter: { rules: Record<string, string | Record<string, unknown>> };
    };
    const named = Object.values(linter.rules).flatMap((group) =>
      typeof group === "string" ? [] : Object.keys(group),
    );
    const covered = new Set([
      ...styleFixtures.map(({ rule }) => rule),
      "noImportCycles",
      "noRestrictedImports",
    ]);
    assert.ok(named.length > 20);
    assert.deepEqual(
      named.filter((rule) => !covered.has(rule)),
      [],
    );
  });

  it("fails the gate", () => assert.equal(run.status, 1));
});

describe("import boundaries", () => {
  const files: Record<string, string> = {};
  const expectations: { title: string; paths: string[]; rules: string[] }[] = [];
  const expect = (
    from: string,
    verdict: string,
    specifiers: readonly string[],
    rules: string[],
  ) => {
    for (const specifier of specifiers) {
      const paths = importForms(specifier).map((source, form) => {
        const path = from.replace("importer", `importer-${expectations.length}-${form}`);
        files[path] = source;
        return path;
      });
      expectations.push({ title: `${from} ${verdict} ${specifier}`, paths, rules });
    }
  };
  for (const { from, refused, allowed } of boundaries) {
    expect(from, "may not import", refused, ["noRestrictedImports"]);
    expect(from, "may import", allowed, []);
  }

  let run: LintRun;
  before(() => {
    run = lint(files);
  });

  for (const { title, paths, rules } of expectations) {
    it(title, () => {
      for (const path of paths) {
        assert.deepEqual([...(run.rules.get(path) ?? [])], rules, files[path]);
      }
    });
  }
});

describe("what passes", () => {
  it("a clean tree, with long tests, console in local and process.env where entries read it", () => {
    const long = styleFixtures.find(({ rule }) => rule === "noExcessiveLinesPerFunction");
    assert.ok(long);
    const run = lint({
      "core/domain/schedule.ts": "export const next = (ms: number): Date => new Date(ms + 1);\n",
      "core/domain/schedule.test.ts": long.source,
      "test/support/long.ts": long.source,
      "core/services/executor/log.ts": `import { describeError } from "#core/domain/describe-error.ts";\n\n${logCall("{ ...describeError(error), code: `a` }")}`,
      "local/start.ts": 'console.log("started");\n',
      "workers/_shared/read-env.ts": "export const home = process.env.HOME;\n",
    });
    assert.deepEqual([...run.rules], []);
    assert.equal(run.status, 0);
    assert.ok(run.filesRead >= 5, `only ${run.filesRead} files were read`);
  });

  it("the gate reads every TypeScript file of the repository, but the generated one", () => {
    const sources = repositorySources().filter((path) => !path.startsWith("client/generated/"));
    const run = runTool(
      "biome",
      ["check", "--reporter=json", "--max-diagnostics=1", "."],
      repositoryRoot,
    );
    const { summary } = JSON.parse(run.stdout) as Report;
    assert.ok(sources.length > 0);
    assert.ok(summary.changed + summary.unchanged >= sources.length);
  });
});
