/** What the OpenAPI document says that no schema knows: the errors, the headers, how to authenticate. */
import type { FieldProblem } from "#core/domain/field-problem.ts";
import type { AnswerHeader, RequestHeader } from "./contract.ts";
import type { OpenApiHeader, OpenApiParameter } from "./openapi-types.ts";
import type { ProblemStatus } from "./problem.ts";

interface DescribedProblem {
  /** Of its component. */
  readonly name: string;
  readonly description: string;
  /** Of the example. */
  readonly detail: string;
  readonly errors?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, OpenApiHeader>>;
}

const retryAfter = {
  "retry-after": {
    description: "Seconds after which to try again.",
    schema: { type: "integer", minimum: 1 },
  },
};

const NEVER_FIRES = "30 February never comes";

/** The errors that operations can answer. The gateway adds 404 and 405 for paths and methods that are none, 431 and 504. */
export const PROBLEMS: Readonly<Partial<Record<ProblemStatus, DescribedProblem>>> = {
  400: {
    name: "BadRequest",
    description: "Not JSON, not decodable, or a cursor that is not of this list and filter.",
    detail: "the body is not JSON, or nested too deeply",
  },
  401: {
    name: "Unauthorized",
    description: "No API key, or one that is not known.",
    detail: "this API key is not known",
  },
  403: {
    name: "Forbidden",
    description: "The key lacks the scope, or its tenant is disabled.",
    detail: 'this needs the scope "write"; the caller has read',
  },
  404: {
    name: "NotFound",
    description: "There is none of this id or name, or it is another tenant's.",
    detail: "there is no such task",
  },
  409: {
    name: "Conflict",
    description:
      "The state of the task or job does not allow it, the name is taken, or a request with the same `Idempotency-Key` is still in work.",
    detail: "another task has this name",
  },
  412: {
    name: "PreconditionFailed",
    description:
      "`If-Match` does not name the task as it is: it has gone on, is another one, or there is none. Or there is one, with `If-None-Match`.",
    detail: 'the task has the ETag "4-0m7k2c9x", which If-Match does not name',
  },
  413: {
    name: "ContentTooLarge",
    description: "The request, or the body in it, is too large.",
    detail: "request.body: has 262145 bytes, at most 262144 are allowed",
    errors: [{ field: "request.body", message: "has 262145 bytes, at most 262144 are allowed" }],
  },
  415: {
    name: "UnsupportedMediaType",
    description: "The body is not JSON in UTF-8 by its own account.",
    detail: "the body must be application/json, in UTF-8",
  },
  422: {
    name: "UnprocessableContent",
    description:
      "Fields or parameters that are not valid, beyond a quota, or another body under an `Idempotency-Key` that has been used.",
    detail: `schedule.expression: ${NEVER_FIRES}`,
    errors: [{ field: "schedule.expression", message: NEVER_FIRES }],
  },
  429: {
    name: "TooManyRequests",
    description: "More requests than the key may make, or a quota of the tenant is used up.",
    detail: "the tenant has 1000 tasks, of at most 1000 (quota tasksMax)",
    headers: retryAfter,
  },
  500: {
    name: "InternalServerError",
    description: "An error of ours.",
    detail: "an error of ours; it has been logged",
  },
  503: {
    name: "ServiceUnavailable",
    description:
      "A database is away or busy, or the master key of secrets is. For a write, the detail says whether it may have been done.",
    detail: "the database is away or busy: try again",
    headers: retryAfter,
  },
};

export const REQUEST_HEADERS: Readonly<Record<RequestHeader, OpenApiParameter>> = {
  "if-match": {
    name: "If-Match",
    in: "header",
    required: false,
    description:
      "The ETag of the task to change, with its quotes, or several, separated by commas; a task with another one is left alone, with 412. `version` in quotes does too, of whichever task there is. A weak one (`W/…`) names none. `*`: whichever there is; PUT makes none then.",
    schema: { type: "string" },
  },
  "if-none-match": {
    name: "If-None-Match",
    in: "header",
    required: false,
    description:
      "`*`: create only; a task that exists is left alone, with 412. Not with `If-Match`.",
    schema: { type: "string", examples: ["*"] },
  },
  "idempotency-key": {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "1 to 255 visible ASCII characters, new for each change. For 24 h the same key with the same body gets the same answer, and changes nothing more.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
  },
};

const ANSWER_HEADERS: Readonly<Record<AnswerHeader, OpenApiHeader>> = {
  etag: {
    description:
      "The task as it is, for `If-Match`. No other task has it, as one might that gets its name later.",
    schema: { type: "string", pattern: '^"[^"]+"$' },
  },
  location: { description: "Where to read it.", schema: { type: "string" } },
  "idempotency-replayed": {
    description: "`true` when this is the first answer to this `Idempotency-Key` once more.",
    schema: { type: "string", enum: ["true"] },
  },
};

export function answerHeader(name: AnswerHeader): OpenApiHeader {
  return ANSWER_HEADERS[name];
}

export const SECURITY_SCHEMES = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "A key of the tenant, with the scopes `read`, `write` or `admin`.",
  },
  iam: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description:
      "In AWS: a request signed by an IAM principal that is mapped to the tenant (SigV4).",
    "x-amazon-apigateway-authtype": "awsSigv4",
  },
};

export const TAGS = [
  { name: "tasks", description: "What is to be called, and when." },
  { name: "schedules", description: "When something runs." },
  { name: "jobs", description: "One execution of a task each." },
  { name: "dead letters", description: "Jobs whose attempts are used up, and their rescue." },
  {
    name: "limits",
    description: "How many calls an endpoint, or the tenant altogether, gets at once and a second.",
  },
  {
    name: "signing",
    description: "How an endpoint knows that a call is ours: Standard Webhooks signatures.",
  },
  { name: "service", description: "About the service itself." },
];
