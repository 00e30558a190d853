/**
 * A peer's leg as a process of its own: it fills and drains its queue once to warm up, fills it again, waits for our word, drains,
 * and tells what that took.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { runCommand } from "#local/run-command.ts";
import { SetupError } from "#local/setup-error.ts";
import type { ScenarioContext } from "../scenario.ts";

const ROOM = import.meta.dirname;
const INSTALL_MS = 300_000;
const LEG_MS = 300_000;
const LOG_KEPT = 2_000;

/** What every leg is given. */
export interface Calls {
  readonly target: string;
  /** What each job calls at the target: one entry a job; those of the warm-up, and those that are measured. */
  readonly before: readonly string[];
  readonly paths: readonly string[];
  /** Calls under way at once. */
  readonly atOnce: number;
  readonly payload: string;
}

export interface PeerLeg {
  readonly tookMs: number;
  readonly cpuMs: number;
}

/** Installs the peers' packages beside the local system's files, apart from the product's; answers where. */
export async function installPeers({ say, signal }: ScenarioContext): Promise<string> {
  const dir = join(resolve(process.env.LOCAL_DIR || ".local"), "bench", "peers");
  mkdirSync(dir, { recursive: true });
  rmSync(join(dir, "db-scheduler"), { recursive: true, force: true });
  for (const folder of ["node", "db-scheduler"])
    cpSync(join(ROOM, folder), join(dir, folder), { recursive: true });
  say("installing the peers' packages");
  const install = [
    "install",
    "--prefix",
    join(dir, "node"),
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
  ];
  await succeed("npm", install, signal);
  say("compiling the leg of db-scheduler");
  const pom = join(dir, "db-scheduler", "pom.xml");
  const classpath = `-Dmdep.outputFile=${join(dir, "db-scheduler", "classpath.txt")}`;
  const maven = ["-q", "-B", "-f", pom, "compile", "dependency:build-classpath", classpath];
  await succeed("mvn", maven, signal);
  return dir;
}

async function succeed(file: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const { code, stdout, stderr } = await runCommand(file, args, { timeoutMs: INSTALL_MS, signal });
  signal.throwIfAborted();
  if (code !== 0)
    throw new SetupError(`${file} failed: ${(stderr || stdout).trimEnd().slice(-LOG_KEPT)}`);
}

interface Leg {
  readonly dir: string;
  readonly calls: Calls;
  /** Called when the queue is filled again; the leg drains when it has resolved. */
  readonly onReady: () => Promise<void>;
}

/** A peer whose leg is a script of Node. */
export function runScript({ dir, calls, onReady }: Leg, name: string, server: string) {
  const given = join(dir, "calls.json");
  writeFileSync(given, JSON.stringify({ server, ...calls }));
  return runLeg(process.execPath, [join(dir, "node", `${name}.mjs`), given], onReady);
}

export function runDbScheduler({ dir, calls, onReady }: Leg, mysqlUrl: string, database: string) {
  const { target, before, paths, atOnce, payload } = calls;
  const { host, username } = new URL(mysqlUrl);
  const jdbc = `jdbc:mysql://${host}/${database}?rewriteBatchedStatements=true&useSSL=false&allowPublicKeyRetrieval=true`;
  const folder = join(dir, "db-scheduler");
  const classpath = readFileSync(join(folder, "classpath.txt"), "utf8").trim();
  const path = `${join(folder, "target", "classes")}:${classpath}`;
  const files = { before: join(dir, "before.txt"), paths: join(dir, "paths.txt") };
  writeFileSync(files.before, before.join("\n"));
  writeFileSync(files.paths, paths.join("\n"));
  const args = [jdbc, username, target, atOnce, payload, files.before, files.paths];
  return runLeg("java", ["-cp", path, "Leg", ...args.map(String)], onReady);
}

/** Throws SetupError with the leg's last words when it ends without figures. */
function runLeg(
  file: string,
  args: readonly string[],
  onReady: () => Promise<void>,
): Promise<PeerLeg> {
  return new Promise((done, failed) => {
    const child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"] });
    let log = "";
    let leg: PeerLeg | null = null;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-LOG_KEPT);
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), LEG_MS);
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line === "ready") {
        onReady().then(
          () => child.stdin.write("go\n"),
          (error: unknown) => {
            failed(error);
            child.kill("SIGKILL");
          },
        );
        return;
      }
      if (line.startsWith("peer ")) leg = JSON.parse(line.slice("peer ".length)) as PeerLeg;
      else log = `${log}${line}\n`.slice(-LOG_KEPT);
    });
    child.once("error", failed);
    child.once("close", (code) => {
      clearTimeout(timer);
      if (leg !== null) done(leg);
      else failed(new SetupError(`${args.at(-2)} ended with ${code}: ${log.trimEnd()}`));
    });
  });
}
