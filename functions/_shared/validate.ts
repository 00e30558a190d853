/** Checks input against a schema and says what is wrong in words that a person understands, field by field. */

import type { z } from "zod";
import type { FieldProblem } from "#core/domain/field-problem.ts";
import { fieldsProblem, HttpProblem } from "./problem.ts";

export type Checked<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "invalid"; readonly problem: HttpProblem };

/** Marks a custom issue whose answer is 413, not 422. */
export const TOO_LARGE = { tooLarge: true } as const;

/** Parses `input`, or tells the problem: 413 when something is too large, else 422 with every field. */
export function check<T>(schema: z.ZodType<T>, input: unknown): Checked<T> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return { kind: "ok", value: result.data };
  const { issues } = result.error;
  const tooLarge = issues.find((issue) => issue.code === "custom" && issue.params?.tooLarge);
  if (tooLarge !== undefined) {
    const errors = describeIssue(tooLarge);
    const detail = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
    return { kind: "invalid", problem: new HttpProblem(413, detail, { errors }) };
  }
  return { kind: "invalid", problem: fieldsProblem(issues.flatMap(describeIssue)) };
}

/** As `check`, but throws the problem. */
export function validate<T>(schema: z.ZodType<T>, input: unknown): T {
  const checked = check(schema, input);
  if (checked.kind === "invalid") throw checked.problem;
  return checked.value;
}

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function describeIssue(issue: z.core.$ZodIssue): FieldProblem[] {
  const field = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const prefix = field === "" ? "" : `${field}.`;
    return issue.keys.map((key) => ({
      field: (prefix + key).slice(0, 200),
      message: "is not a known field",
    }));
  }
  return [{ field: field.slice(0, 200), message: messageOf(issue) }];
}

function messageOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "custom":
      return issue.message;
    case "invalid_type":
      return issue.input === undefined && issue.path.length > 0
        ? "is required"
        : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "invalid_union":
      return messageOfUnion(issue);
    case "too_small":
      return issue.origin === "string" || issue.origin === "array"
        ? "must not be empty"
        : `must be at least ${issue.minimum}`;
    case "too_big":
      return issue.origin === "string"
        ? `must have at most ${issue.maximum} characters`
        : issue.origin === "array"
          ? `must have at most ${issue.maximum} items`
          : `must be at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** What the schema says of its kinds, else their names. */
function messageOfUnion(issue: z.core.$ZodIssueInvalidUnion): string {
  if (issue.message !== "Invalid input") return issue.message;
  const { options } = issue as { readonly options?: readonly unknown[] };
  return `must be one of ${options?.join(", ") ?? "the known kinds"}`;
}
