/** Schemathesis in a virtual environment of its own under `.local/`, with every package pinned by requirements.txt. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const INSTALL_MS = 240_000;
const REQUIREMENTS = join(import.meta.dirname, "requirements.txt");
const NEEDED =
  "Schemathesis needs Python 3.10 or newer with venv and pip; on Debian and Ubuntu: apt-get install python3-venv";

/** The path of the program, installed if it is not yet. Throws with what is missing, and how to get it. */
export function installSchemathesis(): string {
  const hash = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex").slice(0, 12);
  const dir = join(resolve(process.env.LOCAL_DIR || ".local"), `schemathesis-${hash}`);
  const program = join(dir, "bin", "schemathesis");
  const ready = join(dir, "ready");
  if (existsSync(ready)) return program;
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(resolve(dir, ".."), { recursive: true });
  if (!makeEnvironment(dir) && !(installVenv() && makeEnvironment(dir))) throw new Error(NEEDED);
  const pip = [
    join(dir, "bin", "pip"),
    "install",
    "--quiet",
    "--disable-pip-version-check",
  ] as const;
  const installed = run(pip[0], [...pip.slice(1), "--requirement", REQUIREMENTS]);
  if (installed.status !== 0) throw new Error(`pip failed; ${NEEDED}\n${installed.output}`);
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
  return (
    run("apt-get", ["update", "-q"]).status === 0 &&
    run("apt-get", ["install", "-y", "-q", "python3-venv"]).status === 0
  );
}

function run(command: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    timeout: INSTALL_MS,
  });
  return { status, output: `${stdout ?? ""}${stderr ?? ""}`.slice(-2_000) };
}
