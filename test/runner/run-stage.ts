import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Counts } from "./count-reporter.ts";
import { type GroupEnd, type GroupOptions, runGroup } from "./run-group.ts";
import type { FileStage, GateStage } from "./stages.ts";

export type StageContext = Omit<GroupOptions, "cwd"> & {
  /** The repository's. */
  readonly root: string;
};

const passedGate: Counts = { passed: 1, failed: 0, skipped: 0 };
const failedGate: Counts = { passed: 0, failed: 1, skipped: 0 };

/** Runs one command; it counts as one test. */
export async function runGateStage(stage: GateStage, context: StageContext): Promise<Counts> {
  const [command, ...args] = stage.command;
  const end = await runGroup(command, args, { ...context, cwd: context.root });
  reportCut(stage.name, end, context.deadlineMs);
  return end.kind === "exited" && end.code === 0 ? passedGate : failedGate;
}

/**
 * Runs the stage's files in one `node --test`. No files: nothing to count. Files in which no test ran at all, a run cut
 * short, or an exit code that its counts do not explain is one failure more.
 */
export async function runFileStage(stage: FileStage, context: StageContext): Promise<Counts> {
  if (stage.files.length === 0) return { passed: 0, failed: 0, skipped: 0 };
  const scratch = mkdtempSync(join(tmpdir(), "test-counts-"));
  try {
    const countsFile = join(scratch, "counts.json");
    const args = nodeArguments(stage, countsFile);
    const end = await runGroup(process.execPath, args, { ...context, cwd: context.root });
    reportCut(stage.name, end, context.deadlineMs);
    return judge(stage.name, readCounts(countsFile), end);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function nodeArguments(stage: FileStage, countsFile: string): string[] {
  return [
    "--test",
    `--test-concurrency=${stage.concurrency}`,
    `--test-timeout=${stage.fileDeadlineMs}`,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    `--test-reporter=${join(import.meta.dirname, "count-reporter.ts")}`,
    `--test-reporter-destination=${countsFile}`,
    ...stage.files,
  ];
}

/** What the reporter wrote; undefined when the run was cut before its end. */
function readCounts(countsFile: string): Counts | undefined {
  try {
    return JSON.parse(readFileSync(countsFile, "utf8")) as Counts;
  } catch {
    return undefined;
  }
}

function judge(name: string, counts: Counts | undefined, end: GroupEnd): Counts {
  const { failed, ...others } = counts ?? { passed: 0, failed: 0, skipped: 0 };
  const complete = counts !== undefined && end.kind === "exited";
  const explained = complete && (end.code === 0 || failed > 0);
  if (explained && others.passed + failed > 0) return { ...others, failed };
  console.log(complete ? `${name}: no test ran` : `${name}: the run did not come to its end`);
  return { ...others, failed: Math.max(1, failed) };
}

function reportCut(name: string, end: GroupEnd, deadlineMs: number): void {
  if (end.kind === "deadline")
    console.log(`${name}: ended at its deadline of ${Math.round(deadlineMs / 1000)} s`);
  if (end.kind === "stopped") console.log(`${name}: stopped`);
}
