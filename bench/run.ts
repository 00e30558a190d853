/**
 * `npm run bench -- <scenario> [--json FILE]`: runs one scenario and prints a table; the last line of stdout is one JSON object
 * with the figures and `"pass": true|false`. Progress goes to stderr. Exit code 0 only when it passes.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SetupError } from "#local/setup-error.ts";
import type { Scenario } from "./scenario.ts";
import { formatTable } from "./table.ts";

const SCENARIOS: Readonly<Record<string, () => Promise<Scenario>>> = {
  api: async () => (await import("./api.ts")).scenario,
  egress: async () => (await import("./egress.ts")).scenario,
  p0: async () => (await import("./p0.ts")).scenario,
  p8: async () => (await import("./p8.ts")).scenario,
};

class UsageError extends Error {
  override readonly name = "UsageError";
}

function readArguments(args: readonly string[]): { name: string; jsonFile: string | null } {
  const known = Object.keys(SCENARIOS).join(", ");
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { json: { type: "string" } },
      allowPositionals: true,
    });
    const [name, ...rest] = positionals;
    if (name !== undefined && rest.length === 0 && Object.hasOwn(SCENARIOS, name))
      return { name, jsonFile: values.json ?? null };
    throw new UsageError(
      name === undefined
        ? `name a scenario: ${known}`
        : `no such scenario: ${positionals.join(" ")}; there are ${known}`,
    );
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const usage = `usage: npm run bench -- <scenario> [--json FILE]; scenarios: ${known}`;
    throw new UsageError(usage, { cause: error });
  }
}

async function main(): Promise<number> {
  const { name, jsonFile } = readArguments(process.argv.slice(2));
  const scenario = await (SCENARIOS[name] as () => Promise<Scenario>)();
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => stopping.abort(new SetupError(`stopped by ${signal}`)));
  const startedAt = performance.now();
  const elapsed = () => `${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s`;
  const say = (line: string) => void process.stderr.write(`${elapsed()}  ${line}\n`);
  say(`${name}: ${scenario.question}`);
  const { pass, figures, table } = await scenario.run({ say, signal: stopping.signal });
  const tookS = Math.round((performance.now() - startedAt) / 100) / 10;
  const json = JSON.stringify({ scenario: name, pass, tookS, ...figures });
  if (jsonFile !== null) {
    mkdirSync(dirname(resolve(jsonFile)), { recursive: true });
    writeFileSync(jsonFile, `${json}\n`);
  }
  process.stdout.write(`${formatTable(table)}\n\n${json}\n`);
  return pass ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const expected = error instanceof UsageError || error instanceof SetupError;
  process.stderr.write(`bench: ${expected ? error.message : ((error as Error).stack ?? error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
