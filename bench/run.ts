/**
 * `npm run bench -- <scenario> [--json FILE]`: runs one scenario and prints a table; the last line of stdout is one JSON object
 * with the figures, the machine and `"pass": true|false`. Progress goes to stderr. Exit code 0 only when it passes.
 *
 * `--save` keeps the figures, and the chart where there is one, in bench/results/. Each scenario says which of the others it takes:
 * `--quick`, `--seed N`, `--seconds N`, `--executors N`, `--rounds N`, `--tls N` (N origins over TLS), `--delay N` (endpoints take N ms),
 * `--materialise` (from tasks that are due), `--cold` (no warm-up but for connections), `--soak` and `--profile DIR` (CPU profiles of
 * the executors).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SetupError } from "#local/setup-error.ts";
import { barRows } from "./bars.ts";
import { describeMachine } from "./machine.ts";
import { resultName } from "./result-name.ts";
import type { BenchOptions, Scenario } from "./scenario.ts";
import { formatTable } from "./table.ts";

const SCENARIOS: Readonly<Record<string, () => Promise<Scenario>>> = {
  api: async () => (await import("./api.ts")).scenario,
  claims: async () => (await import("./claims.ts")).scenario,
  egress: async () => (await import("./egress.ts")).scenario,
  fairness: async () => (await import("./fairness.ts")).scenario,
  growth: async () => (await import("./growth.ts")).scenario,
  idle: async () => (await import("./idle.ts")).scenario,
  limits: async () => (await import("./limits.ts")).scenario,
  p0: async () => (await import("./p0.ts")).scenario,
  p1: async () => (await import("./p1.ts")).scenario,
  p2: async () => (await import("./p2.ts")).scenario,
  p3: async () => (await import("./p3.ts")).scenario,
  p4: async () => (await import("./p4.ts")).scenario,
  p5: async () => (await import("./p5.ts")).scenario,
  p6: async () => (await import("./p6.ts")).scenario,
  p7: async () => (await import("./p7.ts")).scenario,
  p8: async () => (await import("./p8.ts")).scenario,
  p9: async () => (await import("./p9.ts")).scenario,
  peers: async () => (await import("./peers.ts")).scenario,
};

class UsageError extends Error {
  override readonly name = "UsageError";
}

const RESULTS = join(import.meta.dirname, "results");
const SEED_DEFAULT = 1;

interface Arguments {
  readonly name: string;
  readonly jsonFiles: readonly string[];
  readonly chartFile: string | null;
  /** Names of the scenario's options that were given. */
  readonly given: readonly string[];
  readonly options: BenchOptions;
}

function readArguments(args: readonly string[]): Arguments {
  const known = Object.keys(SCENARIOS).join(", ");
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        json: { type: "string" },
        save: { type: "boolean", default: false },
        quick: { type: "boolean", default: false },
        seed: { type: "string" },
        seconds: { type: "string" },
        executors: { type: "string" },
        rounds: { type: "string" },
        tls: { type: "string" },
        delay: { type: "string" },
        materialise: { type: "boolean", default: false },
        cold: { type: "boolean", default: false },
        soak: { type: "boolean", default: false },
        profile: { type: "string" },
      },
      allowPositionals: true,
    });
    const [name, ...rest] = positionals;
    if (name === undefined || rest.length > 0 || !Object.hasOwn(SCENARIOS, name))
      throw new UsageError(
        name === undefined
          ? `name a scenario: ${known}`
          : `no such scenario: ${positionals.join(" ")}; there are ${known}`,
      );
    if (values.delay !== undefined && values.materialise)
      throw new UsageError("--delay and --materialise are two variants of p2: give one of them");
    const options: BenchOptions = {
      quick: values.quick,
      seed: readNumber("seed", values.seed) ?? SEED_DEFAULT,
      seconds: readNumber("seconds", values.seconds),
      executors: readNumber("executors", values.executors),
      rounds: readNumber("rounds", values.rounds),
      tls: readNumber("tls", values.tls) ?? 0,
      delayMs: readNumber("delay", values.delay) ?? 0,
      materialise: values.materialise,
      cold: values.cold,
      soak: values.soak,
      profileDir: values.profile === undefined ? null : resolve(values.profile),
    };
    const kept = join(RESULTS, resultName(name, options));
    const saved = values.save ? [`${kept}.json`] : [];
    return {
      name,
      jsonFiles: [...(values.json === undefined ? [] : [values.json]), ...saved],
      chartFile: values.save ? `${kept}.svg` : null,
      given: Object.entries(values).flatMap(([option, value]) =>
        option === "json" || option === "save" || value === false ? [] : [option],
      ),
      options,
    };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const usage = `usage: npm run bench -- <scenario> [--json FILE] [--save] [--quick] [--seed N] [--seconds N] [--executors N] [--rounds N] [--tls ORIGINS] [--delay MS] [--materialise] [--cold] [--soak] [--profile DIR]; scenarios: ${known}`;
    throw new UsageError(usage, { cause: error });
  }
}

/** Figures of a run whose option was not looked at would be kept as those of a variant. */
function refuseOthers(name: string, { takes }: Scenario, given: readonly string[]): void {
  const others = given.filter((option) => !takes.some((taken) => taken === option));
  if (others.length === 0) return;
  const known = takes.length === 0 ? "none" : takes.map((option) => `--${option}`).join(" ");
  throw new UsageError(`${name} does not take --${others[0]}; it takes ${known}`);
}

function readNumber(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`--${name} takes a whole number above 0`);
  return Number(text);
}

function writeResult(file: string, text: string): void {
  mkdirSync(dirname(resolve(file)), { recursive: true });
  writeFileSync(file, text);
}

async function main(): Promise<number> {
  const { name, jsonFiles, chartFile, given, options } = readArguments(process.argv.slice(2));
  const scenario = await (SCENARIOS[name] as () => Promise<Scenario>)();
  refuseOthers(name, scenario, given);
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => stopping.abort(new SetupError(`stopped by ${signal}`)));
  const startedAt = performance.now();
  const elapsed = () => `${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`;
  const say = (line: string) => void process.stderr.write(`${elapsed()}  ${line}\n`);
  say(`${name}: ${scenario.question}`);
  const machine = describeMachine();
  const { signal } = stopping;
  const { pass, figures, table, bars, chart } = await scenario.run({ say, signal, options });
  const tookS = Math.round((performance.now() - startedAt) / 100) / 10;
  const json = JSON.stringify({ scenario: name, pass, tookS, ...figures, bars, machine });
  for (const file of jsonFiles) writeResult(file, `${json}\n`);
  if (chartFile !== null && chart !== undefined) writeResult(chartFile, chart);
  const tables = [table, ...(bars === undefined ? [] : [barRows(bars)])];
  process.stdout.write(`${tables.map(formatTable).join("\n\n")}\n\n${json}\n`);
  return pass ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const expected = error instanceof UsageError || error instanceof SetupError;
  process.stderr.write(`bench: ${expected ? error.message : ((error as Error).stack ?? error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
