/**
 * `npm run faults [-- F3 F7] [--seed N] [--rate N] [--json FILE] [--save]`: breaks one thing after another under a running system and
 * looks at what is left. Prints a line for each fault, then a table; the last line of stdout is one JSON object with
 * `"pass": true|false`. Progress goes to stderr. `--save` keeps the figures in bench/results/faults.json, those of faults that were not
 * run now as they were. Exit code 0 only when all pass.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine } from "#bench/machine.ts";
import { formatTable } from "#bench/table.ts";
import { SetupError } from "#local/setup-error.ts";
import { openFaultDatabase } from "./database.ts";
import type { Fault } from "./fault.ts";
import { cassandraOfRun } from "./history.ts";
import { MATRIX } from "./matrix.ts";
import { type Outcome, runFault } from "./run-fault.ts";
import { HEADS, lineOf, rowOf } from "./tell.ts";

const SAVED = resolve(import.meta.dirname, "..", "..", "bench", "results", "faults.json");

class UsageError extends Error {
  override readonly name = "UsageError";
}

interface Arguments {
  readonly faults: readonly Fault[];
  readonly seed: number;
  readonly perSecond: number | undefined;
  readonly jsonFile: string | null;
  readonly save: boolean;
}

function readArguments(args: readonly string[]): Arguments {
  const known = MATRIX.map(({ id, title }) => `${id} ${title}`).join("\n  ");
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        seed: { type: "string", default: "1" },
        rate: { type: "string" },
        json: { type: "string" },
        save: { type: "boolean", default: false },
      },
      allowPositionals: true,
    });
    const unknown = positionals.filter((id) => !MATRIX.some((fault) => fault.id === id));
    if (unknown.length > 0) throw new UsageError(`no such fault: ${unknown.join(" ")}`);
    return {
      faults: MATRIX.filter(({ id }) => positionals.length === 0 || positionals.includes(id)),
      seed: readNumber("seed", values.seed),
      perSecond: values.rate === undefined ? undefined : readNumber("rate", values.rate),
      jsonFile: values.json ?? null,
      save: values.save,
    };
  } catch (error) {
    const { message } = error as Error;
    const usage =
      "usage: npm run faults [-- F3 …] [--seed N] [--rate JOBS_A_SECOND] [--json FILE] [--save]";
    throw new UsageError(`${message}\n${usage}\n  ${known}`, { cause: error });
  }
}

function readNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`--${name} takes a whole number above 0`);
  return Number(text);
}

async function main(): Promise<number> {
  const { faults, seed, perSecond, jsonFile, save } = readArguments(process.argv.slice(2));
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => stopping.abort(new SetupError(`stopped by ${signal}`)));
  const { signal } = stopping;
  const startedAt = performance.now();
  const elapsed = () => `${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s`;
  const say = (line: string) => void process.stderr.write(`${elapsed()}  ${line}\n`);
  const machine = describeMachine();
  await using use = new AsyncDisposableStack();
  const cassandra = use.use(cassandraOfRun(say, signal));
  const database = use.use(await openFaultDatabase(say, signal));
  const outcomes: Outcome[] = [];
  for (const fault of faults) {
    say(`${fault.id} ${fault.title}: ${fault.breaks}`);
    const run = { database, cassandra, seed, say, signal, perSecond };
    const outcome = await runFault(fault, run);
    outcomes.push(outcome);
    for (const [message, count] of Object.entries(outcome.complaints))
      say(`  said ${count} times: ${message}`);
    process.stdout.write(`${lineOf(outcome)}\n`);
  }
  const pass = outcomes.every(({ failures }) => failures.length === 0);
  const json = `${JSON.stringify({ pass, seed, faults: outcomes, machine })}\n`;
  if (jsonFile !== null) writeFileSync(jsonFile, json);
  if (save) keep(outcomes, seed, machine);
  process.stdout.write(`\n${formatTable([HEADS, ...outcomes.map(rowOf)])}\n\n${json}`);
  return pass ? 0 : 1;
}

function keep(
  outcomes: readonly Outcome[],
  seed: number,
  machine: ReturnType<typeof describeMachine>,
): void {
  const before: Outcome[] = existsSync(SAVED) ? JSON.parse(readFileSync(SAVED, "utf8")).faults : [];
  const faults = MATRIX.flatMap(({ id }) => {
    const fresh = outcomes.find((outcome) => outcome.id === id);
    const found = fresh ?? before.find((outcome) => outcome.id === id);
    return found === undefined ? [] : [fresh === undefined ? found : { ...fresh, seed, machine }];
  });
  const pass = faults.every(({ failures }) => failures.length === 0);
  writeFileSync(join(SAVED), `${JSON.stringify({ pass, faults }, null, 1)}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  const expected = error instanceof UsageError || error instanceof SetupError;
  process.stderr.write(`faults: ${expected ? error.message : ((error as Error).stack ?? error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
