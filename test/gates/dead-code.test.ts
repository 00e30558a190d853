/** knip refuses a dead file, a dead export, an unused and an unlisted dependency, in every room that it must watch. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gateTree, runTool, type TreeFiles } from "./gate-tree.ts";

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
