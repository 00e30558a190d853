import { parseArgs } from "node:util";
import type { ControlStore } from "#core/ports/control-store.ts";
import type { Digest } from "#core/ports/digest.ts";
import type { Random } from "#core/ports/random.ts";
import type { Shards } from "#core/ports/shards.ts";
import type { SigningDeps } from "#core/services/signing/rotate-signing-secret.ts";
import { SetupError } from "../setup-error.ts";

// What a command of `npm run admin` is, and how a command line becomes one.

export interface AdminDeps {
  readonly control: ControlStore;
  readonly random: Random;
  readonly digest: Digest;
  /** Opens the shards for as long as `work` takes. */
  withShards<Result>(work: (shards: Shards) => Promise<Result>): Promise<Result>;
  /**
   * Opens the shards and their master key for as long as `work` takes. Throws SetupError where no key is named, ConfigurationInvalid
   * for one that is not the databases'.
   */
  withSigning<Result>(work: (deps: SigningDeps) => Promise<Result>): Promise<Result>;
}

/** What a command says: with --json the value on one line, else the lines. */
export interface AdminAnswer {
  readonly json: unknown;
  readonly lines: readonly string[];
}

export interface AdminCommand {
  /** Such as `tenant create`. */
  readonly name: string;
  /** Such as `TENANT`: each has to be given. */
  readonly operands: readonly string[];
  /** What each option takes, such as `{ name: "NAME" }`: none has to be given. */
  readonly options: Readonly<Record<string, string>>;
  readonly about: string;
  run(
    deps: AdminDeps,
    operands: readonly string[],
    options: Readonly<Record<string, string | undefined>>,
  ): Promise<AdminAnswer>;
}

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface AdminLine {
  readonly command: AdminCommand;
  readonly operands: readonly string[];
  readonly options: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
  readonly mysqlUrl: string | null;
}

/** Reads a command line; "help" when that is asked for, or nothing at all. Throws UsageError, one line. */
export function readCommandLine(
  args: readonly string[],
  commands: readonly AdminCommand[],
): AdminLine | "help" {
  const { values, positionals } = parse(args, commands);
  if (values.help === true || args.length === 0) return "help";
  const [noun = "", verb = "", ...operands] = positionals;
  const name = `${noun} ${verb}`.trim();
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const siblings = commands.filter((candidate) => candidate.name.startsWith(`${noun} `));
    const known = (siblings.length > 0 ? siblings : commands).map((candidate) => candidate.name);
    throw new UsageError(`there is no command '${shorten(name)}': there is ${known.join(", ")}`);
  }
  if (operands.length !== command.operands.length || operands.includes("")) {
    throw new UsageError(`'${name}' is written: ${usageOf(command)}`);
  }
  const { json, help: _, "mysql-url": mysqlUrl, ...options } = values;
  for (const option of Object.keys(options)) {
    if (option in command.options) continue;
    throw new UsageError(`'${name}' has no option --${option}; it is written: ${usageOf(command)}`);
  }
  return {
    command,
    operands,
    options: options as Record<string, string>,
    json: json === true,
    mysqlUrl: typeof mysqlUrl === "string" ? mysqlUrl : null,
  };
}

function parse(args: readonly string[], commands: readonly AdminCommand[]) {
  const options: Record<string, { type: "string" | "boolean"; short?: string }> = {
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
    "mysql-url": { type: "string" },
  };
  for (const command of commands)
    for (const option of Object.keys(command.options)) options[option] = { type: "string" };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The rest of a line is advice for other programs; of a value that begins with a dash the lines after it say how to write it.
    const lines = error.message.split("\n").map((line) => line.split(". ")[0]);
    throw new UsageError(lines.join(" "), { cause: error });
  }
}

/** `tenant create TENANT [--name NAME]` */
export function usageOf({ name, operands, options }: AdminCommand): string {
  const optional = Object.entries(options).map(([option, takes]) => `[--${option} ${takes}]`);
  return [name, ...operands, ...optional].join(" ");
}

/** What a person typed, in a message: hardly anything of a secret that was pasted into the wrong place. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\p{Cc}/gu, " ");
  return line.length <= 40 ? line : `${line.slice(0, 10)}…`;
}

/** Something that only a human can put right: exit code 1. */
export function refuse(message: string): never {
  throw new SetupError(message);
}
