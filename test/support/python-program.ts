/** A program of PyPI in a virtual environment of its own under `.local/`, with every package pinned by a requirements.txt. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { APT } from "#local/apt.ts";

const INSTALL_MS = 240_000;

/**
 * The path of the program `name`, installed if it is not yet. `requirements`: path of the file. Throws with what is missing, and how to
 * get it.
 */
export function installPythonProgram(name: string, requirements: string): string {
  const hash = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const dir = join(resolve(process.env.LOCAL_DIR || ".local"), `${name}-${hash}`);
  const program = join(dir, "bin", name);
  const ready = join(dir, "ready");
  if (existsSync(ready)) return program;
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(resolve(dir, ".."), { recursive: true });
  const needed = `${name} needs Python 3.10 or newer with venv and pip; on Debian and Ubuntu: apt-get install python3-venv`;
  if (!makeEnvironment(dir) && !(installVenv() && makeEnvironment(dir))) throw new Error(needed);
  const pip = [
    join(dir, "bin", "pip"),
    "install",
    "--quiet",
    "--disable-pip-version-check",
  ] as const;
  const installed = run(pip[0], [...pip.slice(1), "--requirement", requirements]);
  if (installed.status !== 0) throw new Error(`pip failed; ${needed}\n${installed.output}`);
  writeFileSync(ready, "");
  return program;
}

function makeEnvironment(dir: string): boolean {
  return run("python3", ["-m", "venv", "--clear", dir]).status === 0;
}

/** Debian ships Python without venv; as root we may add it. */
function installVenv(): boolean {
  if (process.getuid?.() !== 0) return false;
  console.log("installing python3-venv");
  return run(APT, ["install", "python3-venv"]).status === 0;
}

function run(command: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    timeout: INSTALL_MS,
  });
  return { status, output: `${stdout ?? ""}${stderr ?? ""}`.slice(-2_000) };
}
