/** knip refuses a dead file, a dead export, an unused and an unlisted dependency, in every room that it must watch. */
import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gateTree, repositoryRoot, runTool, type TreeFiles } from "./gate-tree.ts";

type Issue = { readonly file: string } & Record<
  string,
  readonly { readonly name: string }[] | string
>;

/** Only what the tree below needs: the real list would make every dependency an unused one. */
const manifest = {
  name: "fixture",
  private: true,
  type: "module",
  imports: { "#core/*": "./core/*" },
};

/** A live tree: an entry of a worker that uses one export. */
const live: TreeFiles = {
  "workers/executor/main.ts": 'import { due } from "#core/domain/due.ts";\n\ndue();\n',
  "core/domain/due.ts": "export const due = (): number => 1;\n",
};

/** Runs knip on the live tree and `files`; answers `kind file name` for each finding. */
function findings(files: TreeFiles, dependencies: Record<string, string> = {}): string[] {
  using tree = gateTree({ ...live, ...files });
  writeFileSync(join(tree.root, "package.json"), JSON.stringify({ ...manifest, dependencies }));
  const run = runTool("knip", ["--reporter", "json", "--no-config-hints"], tree.root);
  const { issues } = JSON.parse(run.stdout) as { issues: readonly Issue[] };
  const found = issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, names]) =>
      Array.isArray(names) ? names.map(({ name }) => `${kind} ${file} ${name}`) : [],
    ),
  );
  assert.equal(run.status, found.length === 0 ? 0 : 1, run.stderr);
  return found;
}

describe("dead code gate", () => {
  it("passes a tree in which everything is reached", () => assert.deepEqual(findings({}), []));

  for (const room of [
    "core/domain",
    "adapters/mysql",
    "functions/_shared",
    "workers/_shared",
    "infra",
    "local",
    "bench",
    "client",
    "test/support",
  ]) {
    it(`refuses a file of ${room} that nothing imports`, () => {
      const path = `${room}/dead.ts`;
      assert.deepEqual(findings({ [path]: "export const a = 1;\n" }), [`files ${path} ${path}`]);
    });
  }

  it("refuses an export that nothing imports", () => {
    const path = "core/domain/due.ts";
    const source = readFixture(path);
    assert.deepEqual(findings({ [path]: `${source}export const dead = 1;\n` }), [
      `exports ${path} dead`,
    ]);
  });

  it("refuses a type that nothing imports", () => {
    const path = "core/domain/due.ts";
    assert.deepEqual(findings({ [path]: `${readFixture(path)}export type Dead = 1;\n` }), [
      `types ${path} Dead`,
    ]);
  });

  it("refuses a dependency that nothing imports", () => {
    assert.deepEqual(findings({}, { zod: "4.6.7" }), ["dependencies package.json zod"]);
  });

  it("refuses an import of a package that is not listed", () => {
    const path = "workers/executor/main.ts";
    const source = `import { z } from "zod";\n\nz.string();\n${readFixture(path)}`;
    assert.deepEqual(findings({ [path]: source }), [`unlisted ${path} zod`]);
  });

  it("counts the use by a test beside the file", () => {
    const test = 'import { next } from "./next.ts";\n\nnext();\n';
    const files = {
      "core/domain/next.ts": "export const next = (): number => 1;\n",
      "core/domain/next.test.ts": test,
    };
    assert.deepEqual(findings(files), []);
  });
});

function readFixture(path: string): string {
  const source = live[path];
  assert.ok(source);
  return source;
}

/** knip takes all of limits.ts for used, because its test looks at every one. */
function unusedBounds(limits: string, others: string): string[] {
  const named = [...limits.matchAll(/^export const (\w+)/gm)].map((match) => match[1] ?? "");
  const text = `${limits}\n${others}`;
  return named.filter((name) => (text.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0) < 2);
}

describe("bounds", () => {
  const limits = "core/domain/limits.ts";
  const read = (path: string) => readFileSync(join(repositoryRoot, path), "utf8");

  it("refuses one that nothing names", () => {
    const source = "export const A_MAX = 1;\nexport const A_MAX_MS = 2;\nassert(A_MAX_MS < 3);\n";
    assert.deepEqual(unusedBounds(source, ""), ["A_MAX"]);
    assert.deepEqual(unusedBounds(source, "take(A_MAX)"), []);
  });

  it("each has a user, or a relation to hold", () => {
    const rooms = "{core,adapters,functions,workers,infra,local,migrations}/**/*.ts";
    const files = globSync(rooms, {
      cwd: repositoryRoot,
      exclude: (path) => path === "node_modules",
    }).filter((path) => path !== limits && !path.endsWith(".test.ts"));
    assert.ok(files.length > 300);
    assert.deepEqual(unusedBounds(read(limits), files.map(read).join("\n")), []);
  });
});
