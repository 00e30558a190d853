/** What a scenario is given and what it answers. */

export type Figure = string | number | boolean | null;

export interface ScenarioContext {
  /** Tells how far it is, on stderr. */
  readonly say: (line: string) => void;
  /** Aborted by Ctrl-C: the scenario cleans up and throws. */
  readonly signal: AbortSignal;
}

export interface ScenarioOutcome {
  readonly pass: boolean;
  /** What goes into the JSON line beside `pass`. */
  readonly figures: Readonly<Record<string, Figure | readonly Figure[]>>;
  /** What is printed: rows of cells, the first row being the heads. */
  readonly table: readonly (readonly string[])[];
}

export interface Scenario {
  /** The question that it answers, for the list of scenarios. */
  readonly question: string;
  run(context: ScenarioContext): Promise<ScenarioOutcome>;
}
