import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { isAlive } from "./process-identity.ts";
import { SetupError } from "./setup-error.ts";

// ${LOCAL_DIR}/run.json says what a start has brought up, so that `npm stop` finds it all even after the supervisor itself
// was killed. Written before anything can be left behind: after each spawn, synchronously.

const identitySchema = z.strictObject({
  pid: z.int().positive(),
  startTicks: z.string(),
  commandHas: z.string(),
});
const runSchema = z.strictObject({
  /** `ready`: the first call of the sample task has arrived, or none is to be waited for. */
  state: z.enum(["starting", "ready", "stopping"]),
  supervisor: identitySchema,
  api: z.string(),
  key: z.string(),
  mysql: z
    .strictObject({
      url: z.string(),
      kind: z.enum(["given", "docker", "native"]),
      dir: z.string(),
      /** Of a native server; null while it is being started. */
      process: identitySchema.nullable(),
    })
    .nullable(),
  cassandra: z
    .strictObject({
      contactPoints: z.string(),
      kind: z.enum(["given", "docker", "native"]),
      dir: z.string(),
      process: identitySchema.nullable(),
    })
    .nullable()
    // A run of before there was any.
    .default(null),
  /** The names of those that have ended and are about to be started again. */
  restarting: z.array(z.string()).default([]),
  processes: z.array(
    identitySchema.extend({
      name: z.string(),
      stopMs: z.int().positive(),
      stage: z.int(),
      /** Where it serves health and metrics. */
      metricsPort: z.int().positive().nullable().default(null),
    }),
  ),
});
export type Run = z.infer<typeof runSchema>;
/** `stopMs`: how long it may take to end after SIGTERM. Lower stages are stopped first. */
export type RunProcess = Run["processes"][number];

/** The recorded run of `localDir`, or null. Throws SetupError when the file is not ours to read. */
export function readRun(localDir: string): Run | null {
  const path = runPath(localDir);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    const { code } = error as NodeJS.ErrnoException;
    throw new SetupError(
      `cannot read ${path} (${code}): LOCAL_DIR has to be a folder that you may read and write`,
      { cause: error },
    );
  }
  try {
    return runSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new SetupError(
      `${path} is damaged: 'npm stop' ends its supervisor; where that is gone, end what else runs ('ps -ef' shows it by its path), then delete the file`,
      { cause: error },
    );
  }
}

/** Readable by its owner only: the URL of a given MySQL holds a password. Throws SetupError; what was recorded before stays then. */
export function writeRun(localDir: string, run: Run): void {
  const path = runPath(localDir);
  try {
    mkdirSync(localDir, { recursive: true });
    writeFileSync(`${path}.new`, `${JSON.stringify(run, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SetupError(`${path} cannot be written (${code}): make room there`, { cause: error });
  }
}

export function removeRun(localDir: string): void {
  const path = runPath(localDir);
  for (const each of [path, `${path}.new`]) rmSync(each, { force: true });
}

/** Whether anything of the run is left. */
export function isRunning(run: Run): boolean {
  const databases = [run.mysql?.process, run.cassandra?.process];
  return [run.supervisor, ...run.processes, ...databases].some((each) => each && isAlive(each));
}

function runPath(localDir: string): string {
  return join(localDir, "run.json");
}
