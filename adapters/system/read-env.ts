/**
 * Environment variables of an entry point: declared once, as pure data, in its env.ts, which infra reads too. What is missing,
 * malformed or unknown is refused at start, all of it in one message.
 */
import { ConfigurationInvalid } from "#core/domain/errors.ts";

export type EnvVariable =
  | { readonly kind: "text"; readonly default?: string }
  | { readonly kind: "url"; readonly protocols: readonly string[]; readonly default?: string }
  | {
      readonly kind: "integer";
      readonly min: number;
      readonly max: number;
      readonly default?: number;
    }
  | { readonly kind: "choice"; readonly choices: readonly string[]; readonly default?: string };

export type EnvDeclaration = Readonly<Record<string, EnvVariable>>;

export type EnvValues<D extends EnvDeclaration> = {
  readonly [Name in keyof D]: D[Name] extends { kind: "integer" }
    ? number
    : D[Name] extends { kind: "choice"; choices: readonly (infer Choice)[] }
      ? Choice
      : string;
};

/**
 * Reads the declared variables out of `values`. Throws ConfigurationInvalid that names every fault. A variable that begins with
 * `ownPrefix` (EXECUTOR_) and is not declared is taken for a misspelling. Values are never repeated in the message: they may be
 * secrets.
 */
export function readEnv<const D extends EnvDeclaration>(
  declaration: D,
  values: Readonly<Record<string, string | undefined>>,
  options: { readonly ownPrefix?: string } = {},
): EnvValues<D> {
  const faults: string[] = [];
  const read: Record<string, string | number> = {};
  for (const [name, variable] of Object.entries(declaration)) {
    const text = values[name];
    if (text === undefined || text === "") {
      if (variable.default === undefined) faults.push(`${name} is not set`);
      else read[name] = variable.default;
      continue;
    }
    const value = parse(variable, text);
    if (typeof value === "object") faults.push(`${name} must be ${value.expected}`);
    else read[name] = value;
  }
  const { ownPrefix } = options;
  if (ownPrefix !== undefined)
    for (const name of Object.keys(values))
      if (name.startsWith(ownPrefix) && !(name in declaration)) faults.push(`${name} is not known`);
  if (faults.length > 0) throw new ConfigurationInvalid(`configuration: ${faults.join("; ")}`);
  return read as EnvValues<D>;
}

function parse(variable: EnvVariable, text: string): string | number | { expected: string } {
  switch (variable.kind) {
    case "text":
      return text;
    case "integer": {
      const { min, max } = variable;
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max
        ? value
        : { expected: `a whole number from ${min} to ${max}` };
    }
    case "choice":
      return variable.choices.includes(text)
        ? text
        : { expected: `one of ${variable.choices.join(", ")}` };
    case "url": {
      const { protocols } = variable;
      const protocol = URL.canParse(text) ? new URL(text).protocol : "";
      return protocols.includes(protocol)
        ? text
        : { expected: `a URL that begins with ${protocols.join(" or ")}` };
    }
  }
}
