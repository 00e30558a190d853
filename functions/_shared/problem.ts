/** RFC 9457 problem details: the form of every error that the API answers. */
import type { FieldProblem } from "#core/domain/field-problem.ts";

const TITLES = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
  504: "Gateway Timeout",
} as const;

export type ProblemStatus = keyof typeof TITLES;

export function problemTitle(status: ProblemStatus): string {
  return TITLES[status];
}

export const PROBLEM_TYPE = "application/problem+json";

/** Fields that are listed; a body of a million unknown fields is not answered with a million lines. */
const ERRORS_MAX = 50;

/** An answer that is an error. Thrown by operations and middlewares, written by the problem details middleware. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  readonly status: ProblemStatus;
  readonly errors: readonly FieldProblem[] | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Members of the document besides those that all have. */
  readonly more: Readonly<Record<string, unknown>>;

  constructor(
    status: ProblemStatus,
    detail: string,
    options: {
      readonly errors?: readonly FieldProblem[];
      readonly headers?: Readonly<Record<string, string>>;
      readonly more?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: options.cause });
    this.status = status;
    this.errors = options.errors?.slice(0, ERRORS_MAX) ?? null;
    this.headers = options.headers ?? {};
    this.more = options.more ?? {};
  }
}

/** 422, with the first field in the detail. */
export function fieldsProblem(errors: readonly FieldProblem[]): HttpProblem {
  const [first] = errors;
  const detail = first === undefined ? "the request is not valid" : describe(first);
  return new HttpProblem(422, detail, { errors });
}

function describe({ field, message }: FieldProblem): string {
  return field === "" ? message : `${field}: ${message}`;
}

/** The document as JSON text. */
export function problemBody(problem: HttpProblem): string {
  const { status, message: detail, errors, more } = problem;
  const document = { type: "about:blank", title: TITLES[status], status, detail, ...more };
  return JSON.stringify(errors === null ? document : { ...document, errors });
}
