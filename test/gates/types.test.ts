/** `tsc` refuses what it must under both configurations, and reads every TypeScript file of the repository. */
import assert from "node:assert/strict";
import { relative } from "node:path";
import { describe, it } from "node:test";
import { gateTree, repositoryRoot, repositorySources, runTool } from "./gate-tree.ts";

const refused = [
  { code: "TS6133", why: "an unused local", source: "const unused = 1;\nexport const a = 2;\n" },
  {
    code: "TS6133",
    why: "an unused parameter",
    source: "export const f = (a: number): number => 1;\n",
  },
  { code: "TS2322", why: "a wrong type", source: 'export const a: number = "1";\n' },
  {
    code: "TS1294",
    why: "syntax that Node cannot strip",
    source: "export enum A {\n  a = 1,\n}\n",
  },
  {
    code: "TS1484",
    why: "a type imported as a value",
    source: 'import { PathLike } from "node:fs";\nexport type A = PathLike;\n',
  },
  {
    code: "TS2532",
    why: "an element that may be missing",
    source: "export const f = (a: string[]): number => a[0].length;\n",
  },
  {
    code: "TS4114",
    why: "an override that does not say so",
    source: "class A {\n  go(): void {}\n}\nexport class B extends A {\n  go(): void {}\n}\n",
  },
  {
    code: "TS7029",
    why: "a case that falls through",
    source:
      "export function f(a: number): number {\n  let b = 0;\n  switch (a) {\n    case 1:\n      b = 1;\n    default:\n      b += 2;\n  }\n  return b;\n}\n",
  },
  {
    code: "TS2307",
    why: "a file that does not exist",
    source: 'export { a } from "./missing.ts";\n',
  },
];

const optional = "export const a: { b?: number } = { b: undefined };\n";

/** The error codes that `tsc -p project` prints, in order of appearance. */
function typeErrors(root: string, project: string): string[] {
  const run = runTool("tsc", ["-p", project, "--pretty", "false"], root);
  return [...run.stdout.matchAll(/error (TS\d+)/g)].map((match) => String(match[1]));
}

describe("type gate", () => {
  for (const { code, why, source } of refused) {
    for (const [room, project] of [
      ["core/domain", "tsconfig.json"],
      ["infra", "infra/tsconfig.json"],
    ] as const) {
      it(`${project} refuses ${why}`, () => {
        using tree = gateTree({ [`${room}/fixture.ts`]: source });
        assert.deepEqual(typeErrors(tree.root, project), [code]);
      });
    }
  }

  it("tells an absent property from an undefined one everywhere but in infra", () => {
    using tree = gateTree({ "core/domain/fixture.ts": optional, "infra/fixture.ts": optional });
    assert.deepEqual(typeErrors(tree.root, "tsconfig.json"), ["TS2375"]);
    assert.deepEqual(typeErrors(tree.root, "infra/tsconfig.json"), []);
  });

  it("reads every TypeScript file of the repository", () => {
    const read = new Set(
      ["tsconfig.json", "infra/tsconfig.json"]
        .flatMap((project) =>
          runTool("tsc", ["-p", project, "--listFilesOnly"], repositoryRoot).stdout.split("\n"),
        )
        .map((path) => relative(repositoryRoot, path.trim())),
    );
    const sources = repositorySources();
    assert.ok(sources.length > 0);
    assert.deepEqual(
      sources.filter((path) => !read.has(path)),
      [],
    );
  });
});
