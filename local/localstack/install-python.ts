import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { APT } from "../apt.ts";
import { makeDirectory, whileHolding } from "../hold-directory.ts";
import { runCommand } from "../run-command.ts";
import { SetupError } from "../setup-error.ts";

/** LocalStack from PyPI in a virtual environment of its own, with every package pinned by requirements.txt. */

const REQUIREMENTS = join(import.meta.dirname, "requirements.txt");
const INSTALL_MS = 8 * 60_000;
const PYTHON = join("bin", "python");
/** What LocalStack 4.8 and the pinned packages run on; the first that is there is used. */
const PYTHONS = ["python3.11", "python3.12", "python3"];
const NEEDED =
  "LocalStack needs Python 3.11 or 3.12 with venv and pip; on Debian 12 and Ubuntu 24.04: apt-get install python3-venv";

/** The path of a Python that has LocalStack, installed if it is not yet (about 40 s, 500 MB). Throws SetupError. */
export async function installPython(
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex").slice(0, 12);
  const cache = env.LOCAL_CACHE
    ? resolve(env.LOCAL_CACHE)
    : join(homedir(), ".cache", "at-and-cron");
  const name = `localstack-${hash}`;
  if (existsSync(join(cache, name, "ready"))) return join(cache, name, PYTHON);
  makeDirectory(cache, "LOCAL_CACHE");
  const dir = join(realpathSync(cache), name);
  onProgress("installing LocalStack from PyPI");
  const run = (file: string, ...args: string[]) =>
    runCommand(file, args, { timeoutMs: INSTALL_MS, env, signal });
  await whileHolding(dir, INSTALL_MS, signal, async () => {
    // Another start was at it.
    if (!existsSync(join(dir, "ready"))) await install(dir, run, signal);
  });
  return join(dir, PYTHON);
}

async function install(dir: string, run: Run, signal: AbortSignal | undefined): Promise<void> {
  rmSync(dir, { recursive: true, force: true });
  if (
    !(await makeEnvironment(dir, run)) &&
    !((await addVenv(run)) && (await makeEnvironment(dir, run)))
  )
    throw new SetupError(NEEDED);
  // The list is complete: nothing is resolved, and what is never imported is never compiled.
  const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--requirement"];
  const installed = await run(join(dir, PYTHON), ...pip, REQUIREMENTS);
  signal?.throwIfAborted();
  if (installed.code !== 0)
    throw new SetupError(
      `pip could not install LocalStack: ${installed.stderr.trim().slice(-300)}`,
    );
  writeFileSync(join(dir, "ready"), "");
}

type Run = (file: string, ...args: string[]) => ReturnType<typeof runCommand>;

async function makeEnvironment(dir: string, run: Run): Promise<boolean> {
  for (const python of PYTHONS) {
    const fits = "import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))";
    if ((await run(python, "-c", fits)).code !== 0) continue;
    if ((await run(python, "-m", "venv", "--clear", dir)).code === 0) return true;
  }
  return false;
}

/** Debian ships Python without venv; as root we may add it. */
async function addVenv(run: Run): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  return (await run(APT, "install", "python3-venv")).code === 0;
}
