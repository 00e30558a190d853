/**
 * A throw-away copy of the repository's gate configuration with files of a test's own, so that each gate is
 * seen to refuse what it must. Nothing here touches the work tree.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

export const repositoryRoot = resolve(import.meta.dirname, "../..");

const configuration = [
  "biome.json",
  "no-ambient-time.grit",
  "no-raw-error-in-log.grit",
  "package.json",
  "tsconfig.json",
  "infra/tsconfig.json",
  "knip.json",
];

/** Every .ts file below the root's folders, but hidden ones and what synthesis makes. */
export function repositorySources(): string[] {
  return readdirSync(repositoryRoot, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith(".") && name !== "node_modules" && name !== "cdk.out")
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(repositoryRoot, entry.name), { recursive: true }).map((path) =>
            join(entry.name, String(path)),
          )
        : [entry.name],
    )
    .filter((path) => path.endsWith(".ts") && !path.includes("/node_modules/"));
}

/** Path in the tree → content. */
export type TreeFiles = Readonly<Record<string, string>>;

export type Run = {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** A directory with the gates' configuration and `files`, removed when the `using` block ends. */
export function gateTree(files: TreeFiles): { readonly root: string } & Disposable {
  const root = mkdtempSync(join(tmpdir(), "gates-"));
  for (const path of configuration) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    copyFileSync(join(repositoryRoot, path), join(root, path));
  }
  symlinkSync(join(repositoryRoot, "node_modules"), join(root, "node_modules"));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}

/** Runs one of the repository's own tools (`biome`, `tsc`, `knip`) in `root`, one minute at most. */
export function runTool(
  tool: "biome" | "tsc" | "knip",
  args: readonly string[],
  root: string,
): Run {
  const run = spawnSync(join(repositoryRoot, "node_modules/.bin", tool), args, {
    cwd: root,
    encoding: "utf8",
    timeout: 60_000,
    maxBuffer: 32 * 1024 * 1024,
  });
  if (run.error) throw new Error(`${tool} could not be run`, { cause: run.error });
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}
