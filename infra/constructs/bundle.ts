/**
 * One file of JavaScript out of an entry point and all that it imports, for Lambda. esbuild strips the types, which Node does by
 * itself everywhere else; nothing is lowered, renamed or squeezed, so a stack trace reads like the source (measured: squeezed, an
 * API is 1 MB smaller and 15 ms sooner at its first answer).
 *
 * The AWS SDK is inside: the runtime's own copy changes under a deployed function, and is not there at all in an emulator. It is
 * in a chunk of its own (as is everything that an entry imports dynamically), so that who needs none of it does not parse it.
 *
 * A bundle is kept under `.local/bundles/` and made again when a file that went into it has changed: synthesis builds nothing twice.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type BuildOptions, buildSync, version } from "esbuild";

const ROOT = resolve(import.meta.dirname, "../..");
const BUNDLES = join(ROOT, ".local", "bundles");
const FORGOTTEN_AFTER_MS = 3_600_000;

/** Folders that an entry reads at run time, relative to the file that reads them; in a bundle that file is index.mjs. */
const FILES_READ: Readonly<Record<string, readonly string[]>> = {
  "migrations/migrate.ts": ["migrations/control", "migrations/shard"],
  "migrations/cql-files.ts": ["migrations/cassandra"],
};

/** Packages of CommonJS ask for `require`, which a module does not have. */
const BANNER = `import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);`;

const SETTINGS = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  splitting: true,
  keepNames: true,
  legalComments: "none",
  outExtension: { ".js": ".mjs" },
  chunkNames: "chunk-[hash]",
  banner: { js: BANNER },
  logLevel: "silent",
} as const satisfies BuildOptions;

/**
 * The directory whose `index.mjs` is the bundle of `entryFile`, a path from the root of the repository. Throws esbuild's error
 * when the entry does not build.
 */
export function bundleEntry(entryFile: string): string {
  const name = nameOf(entryFile);
  const recipe = recipeOf(name);
  const known = readRecipe(recipe);
  if (known !== null) return known;
  mkdirSync(BUNDLES, { recursive: true });
  const made = mkdtempSync(join(BUNDLES, `${name}-new-`));
  try {
    const inputs = build(entryFile, made);
    const directory = keep(made, name);
    writeRecipe(recipe, directory, inputs);
    return directory;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** The packages that the bundle of `entryFile` has inside, as package-lock.json names them: `node_modules/mysql2`. */
export function bundledPackages(entryFile: string): string[] {
  bundleEntry(entryFile);
  const { inputs } = JSON.parse(readFileSync(recipeOf(nameOf(entryFile)), "utf8")) as Recipe;
  const found = Object.keys(inputs).flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  return [...new Set(found)].sort();
}

/** Builds into `directory`; returns the files that went in, from the root of the repository. */
function build(entryFile: string, directory: string): string[] {
  const { metafile } = buildSync({
    ...SETTINGS,
    entryPoints: { index: entryFile },
    outdir: directory,
    metafile: true,
  });
  const inputs = Object.keys(metafile.inputs);
  for (const folder of copiedFolders(inputs)) {
    cpSync(join(ROOT, folder), join(directory, basename(folder)), { recursive: true });
    inputs.push(...readdirSync(join(ROOT, folder)).map((file) => `${folder}/${file}`));
  }
  return inputs.filter((input) => existsSync(join(ROOT, input)));
}

/** Names the directory after what is in it: runs that overlap make the same one, and none changes under a reader. */
function keep(made: string, name: string): string {
  const files = readdirSync(made, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(made, join(entry.parentPath, entry.name)))
    .sort();
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(made, file)));
  const kept = join(BUNDLES, `${name}-${hash.digest("hex").slice(0, 16)}`);
  openToAll(existsSync(kept) ? kept : made);
  if (existsSync(kept)) return kept;
  try {
    renameSync(made, kept);
  } catch (error) {
    // Another run was first.
    if (!existsSync(kept)) throw error;
  }
  return kept;
}

/**
 * Lambda's zip keeps the modes of files, and the function runs as somebody else: what a narrow umask has made here would be unreadable
 * there, for ever, as the hashes of assets do not see modes.
 */
function openToAll(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}

function nameOf(entryFile: string): string {
  return entryFile.replace(/\.ts$/, "").replaceAll("/", "-");
}

function recipeOf(name: string): string {
  return join(BUNDLES, `${name}.json`);
}

interface Recipe {
  readonly tool: string;
  /** Relative to the root. */
  readonly directory: string;
  /** The lists of folders that are copied, and the hash of each file that went in. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** Of what else decides a bundle: a package's version is in its package.json, which esbuild does not list. */
function toolOf(): string {
  const own = [import.meta.filename, join(ROOT, "package-lock.json")].map(hashOf);
  return [version, ...own].join(" ");
}

/** The directory, when it is there and would come out the same. */
function readRecipe(path: string): string | null {
  if (!existsSync(path)) return null;
  const { tool, directory, inputs } = JSON.parse(readFileSync(path, "utf8")) as Recipe;
  const kept = join(ROOT, directory);
  if (tool !== toolOf() || !existsSync(join(kept, "index.mjs"))) return null;
  for (const [file, hash] of Object.entries(inputs)) {
    const whole = join(ROOT, file);
    if (!existsSync(whole) || hashOf(whole) !== hash) return null;
  }
  for (const folder of copiedFolders(Object.keys(inputs)))
    for (const file of readdirSync(join(ROOT, folder)))
      if (!(`${folder}/${file}` in inputs)) return null;
  return kept;
}

function copiedFolders(inputs: readonly string[]): string[] {
  return inputs.flatMap((input) => FILES_READ[input] ?? []);
}

function writeRecipe(path: string, directory: string, files: readonly string[]): void {
  const inputs = Object.fromEntries(files.map((file) => [file, hashOf(join(ROOT, file))]));
  const recipe: Recipe = { tool: toolOf(), directory: relative(ROOT, directory), inputs };
  const written = `${path}.${process.pid}`;
  writeFileSync(written, JSON.stringify(recipe));
  renameSync(written, path);
  forget(dirname(path), basename(path, ".json"), basename(directory));
}

/** Bundles of the same entry that are an hour old: no synthesis that may still read one takes so long. */
function forget(folder: string, name: string, current: string): void {
  const isOurs = new RegExp(`^${name}-([0-9a-f]{16}|new-.{6})$`);
  for (const entry of readdirSync(folder)) {
    const whole = join(folder, entry);
    if (!isOurs.test(entry) || entry === current) continue;
    const made = statSync(whole, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > FORGOTTEN_AFTER_MS) rmSync(whole, { recursive: true, force: true });
  }
}

function hashOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
