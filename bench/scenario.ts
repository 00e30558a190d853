/** What a scenario is given and what it answers. */
import type { BarFigures } from "./bars.ts";

/** JSON. */
export type Figure =
  | string
  | number
  | boolean
  | null
  | readonly Figure[]
  | { readonly [name: string]: Figure };

/** What a scenario may be asked for, by the names of the command line. */
export type OptionName =
  | "quick"
  | "seed"
  | "seconds"
  | "executors"
  | "rounds"
  | "tls"
  | "delay"
  | "materialise"
  | "cold"
  | "soak"
  | "profile";

export interface BenchOptions {
  /** Sizes that show that it works, in seconds; the figures say nothing. */
  readonly quick: boolean;
  readonly seed: number;
  /** How long load is applied, where it is applied for a time. */
  readonly seconds: number | null;
  /** How many executors, where a scenario does not vary that itself. */
  readonly executors: number | null;
  /** Repetitions of what is compared. */
  readonly rounds: number | null;
  /** How many origins over TLS are called; 0: one without TLS. */
  readonly tls: number;
  /** Processes make only a few calls before they are measured. */
  readonly cold: boolean;
  /** How long endpoints take, ms; 0: they answer at once. */
  readonly delayMs: number;
  /** From tasks that are due, rather than from jobs that are made. */
  readonly materialise: boolean;
  /** Half an hour of it, with memory, handles and lag over time. */
  readonly soak: boolean;
  /** Where executors leave their CPU profiles. */
  readonly profileDir: string | null;
}

export interface ScenarioContext {
  /** Tells how far it is, on stderr. */
  readonly say: (line: string) => void;
  /** Aborted by Ctrl-C: the scenario cleans up and throws. */
  readonly signal: AbortSignal;
  readonly options: BenchOptions;
}

export interface ScenarioOutcome {
  readonly pass: boolean;
  /** What goes into the JSON line beside `pass`. */
  readonly figures: Readonly<Record<string, Figure>>;
  /** What is printed: rows of cells, the first row being the heads. */
  readonly table: readonly (readonly string[])[];
  /** What its ratios are held to: a second table, and `bars` of the JSON line. */
  readonly bars?: readonly BarFigures[];
  /** An SVG picture of it. */
  readonly chart?: string;
}

export interface Scenario {
  /** The question that it answers, for the list of scenarios. */
  readonly question: string;
  /** Others are refused. */
  readonly takes: readonly OptionName[];
  run(context: ScenarioContext): Promise<ScenarioOutcome>;
}
