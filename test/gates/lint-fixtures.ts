/** Sources that a lint rule must refuse, each for one reason only. `rule` is the end of Biome's category. */
import type { TreeFiles } from "./gate-tree.ts";

export type Fixture = {
  readonly rule: string;
  /** Another rule that cannot but fire on the same line. */
  readonly also?: string;
  readonly path: string;
  readonly source: string;
};

const longBody = Array.from({ length: 75 }, (_, n) => `  total += ${n};`).join("\n");
const longFunction = `export function long(): number {\n  let total = 0;\n${longBody}\n  return total;\n}\n`;

/** A file that logs `fields` beside a message, or another logger's way. */
export function logCall(fields: string): string {
  return `export function say(deps: { logger: { warn(...said: unknown[]): void } }, error: Error): void {
  deps.logger.warn("not done: tried again", ${fields});
  if (error.message === "") throw error;
}
`;
}

export const styleFixtures: readonly Fixture[] = [
  { rule: "format", path: "core/domain/format.ts", source: "export const a = 'single quotes';\n" },
  {
    rule: "organizeImports",
    path: "local/imports.ts",
    source:
      'import { z } from "zod";\nimport { join } from "node:path";\n\nexport const a = [z, join];\n',
  },
  { rule: "noExcessiveLinesPerFunction", path: "core/domain/long.ts", source: longFunction },
  {
    rule: "useImportExtensions",
    path: "core/domain/extension.ts",
    source: 'import { next } from "./schedule";\n\nexport const a = next;\n',
  },
  {
    rule: "noUndeclaredDependencies",
    path: "local/undeclared.ts",
    source: 'import { a } from "left-pad";\n\nexport const b = a;\n',
  },
  {
    rule: "noUndeclaredDependencies",
    path: "functions/jobs-api/dev-only.ts",
    source: 'import { assert } from "fast-check";\n\nexport const a = assert;\n',
  },
  {
    rule: "noUnusedImports",
    path: "core/domain/unused-import.ts",
    source: 'import { next } from "./schedule.ts";\n\nexport const a = 1;\n',
  },
  {
    rule: "noUnusedVariables",
    path: "core/domain/unused-variable.ts",
    source: "const unused = 1;\n\nexport const a = 2;\n",
  },
  {
    rule: "noFloatingPromises",
    path: "workers/executor/floating.ts",
    source:
      "async function send(): Promise<void> {}\n\nexport function go(): void {\n  send();\n}\n",
  },
  {
    rule: "noMisusedPromises",
    path: "workers/executor/misused.ts",
    source:
      "async function ready(): Promise<boolean> {\n  return true;\n}\n\nexport function go(): number {\n  if (ready()) return 1;\n  return 2;\n}\n",
  },
  {
    rule: "useExhaustiveSwitchCases",
    path: "core/domain/switch.ts",
    source:
      'export type Kind = "a" | "b";\n\nexport function pick(kind: Kind): number {\n  switch (kind) {\n    case "a":\n      return 1;\n  }\n  return 0;\n}\n',
  },
  {
    rule: "noBarrelFile",
    path: "core/domain/index.ts",
    source: 'export { next } from "./schedule.ts";\n',
  },
  {
    rule: "noReExportAll",
    also: "noBarrelFile",
    path: "core/domain/re-export.ts",
    source: 'export const a = 1;\nexport * from "./schedule.ts";\n',
  },
  {
    rule: "noDefaultExport",
    path: "core/domain/default.ts",
    source: "export default function go(): void {}\n",
  },
  { rule: "noEnum", path: "core/domain/enum.ts", source: "export enum State {\n  a = 1,\n}\n" },
  {
    rule: "noNamespace",
    path: "core/domain/namespace.ts",
    source: "export namespace Space {\n  export type A = string;\n}\n",
  },
  {
    rule: "noParameterProperties",
    path: "core/domain/parameter-property.ts",
    source: "export class A {\n  constructor(readonly a: number) {}\n}\n",
  },
  {
    rule: "useThrowOnlyError",
    path: "core/domain/throw.ts",
    source: 'export function go(): never {\n  throw "no";\n}\n',
  },
  {
    rule: "useErrorCause",
    path: "core/domain/cause.ts",
    source:
      "export function go(act: () => void): void {\n  try {\n    act();\n  } catch (error) {\n    throw new Error(String(error));\n  }\n}\n",
  },
  {
    rule: "useErrorMessage",
    path: "core/domain/message.ts",
    source: "export function go(): never {\n  throw new Error();\n}\n",
  },
  {
    rule: "useImportType",
    path: "core/domain/import-type.ts",
    source: 'import { Next } from "./schedule.ts";\n\nexport type A = Next;\n',
  },
  {
    rule: "useNodejsImportProtocol",
    path: "local/protocol.ts",
    source: 'import { join } from "path";\n\nexport const a = join;\n',
  },
  {
    rule: "noProcessEnv",
    path: "adapters/mysql/environment.ts",
    source: "export const a = process.env;\n",
  },
  {
    rule: "useFilenamingConvention",
    path: "core/domain/camelCase.ts",
    source: "export const a = 1;\n",
  },
  {
    rule: "noConsole",
    path: "workers/executor/console.ts",
    source: 'export function go(): void {\n  console.log("a");\n}\n',
  },
  {
    rule: "noSkippedTests",
    path: "core/domain/skipped.test.ts",
    source: 'import { test } from "node:test";\n\ntest.skip("a", () => {});\n',
  },
  {
    rule: "noFocusedTests",
    path: "core/domain/focused.test.ts",
    source: 'import { test } from "node:test";\n\ntest.only("a", () => {});\n',
  },
  { rule: "plugin", path: "core/domain/now.ts", source: "export const a = Date.now();\n" },
  {
    rule: "plugin",
    path: "core/services/executor/date.ts",
    source: "export const a = new Date();\n",
  },
  { rule: "plugin", path: "core/ports/date-text.ts", source: "export const a = Date();\n" },
  { rule: "plugin", path: "core/domain/random.ts", source: "export const a = Math.random;\n" },
  ...[
    "{ message: error.message }",
    "{ message: error.stack }",
    "{ message: String(error) }",
    "{ message: JSON.stringify({ error }) }",
    "{ message: `failed: $" + "{error}` }",
    "{ error }",
    "{ ...error }",
    "error",
  ].map((fields, at) => ({
    rule: "plugin",
    path: `${["core/services/executor", "adapters/http", "functions/jobs-api", "workers/executor"][at % 4]}/log-${at}.ts`,
    source: logCall(fields),
  })),
  ...[
    "Buffer",
    "clearTimeout",
    "crypto",
    "fetch",
    "globalThis",
    "performance",
    "process",
    "queueMicrotask",
    "setImmediate",
    "setInterval",
    "setTimeout",
  ].map((name) => ({
    rule: "noRestrictedGlobals",
    path: `core/domain/global-${name.toLowerCase()}.ts`,
    source: `export const a = ${name};\n`,
  })),
];

/** Two files that import each other; both are reported. */
export const cycle: TreeFiles = {
  "adapters/http/cycle-a.ts":
    'import { b } from "./cycle-b.ts";\n\nexport const a = (): number => b();\n',
  "adapters/http/cycle-b.ts":
    'import { a } from "./cycle-a.ts";\n\nexport const b = (): number => a();\n',
};

/** What fixtures import where a rule looks the target up. */
export const targets: TreeFiles = {
  "core/domain/schedule.ts": "export type Next = number;\n\nexport const next = 1;\n",
};
