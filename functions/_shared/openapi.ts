/** The OpenAPI 3.1 document: made from the route table and the contracts, and so from the schemas that validate. */
import { z } from "zod";
import { assert } from "#core/domain/assert.ts";
import { NAME_LENGTH_MAX } from "#core/domain/limits.ts";
import { jobIdText, problemSchema, taskIdText } from "./answer-types.ts";
import type { AnswerContract, BodyContract, Contract } from "./contract.ts";
import {
  callError,
  deadLetter,
  deadLetterPage,
  jobAnswer,
  jobPage,
  listedJob,
  retriedAnswer,
  testAnswer,
} from "./job-answers.ts";
import { JOB_CONTRACTS } from "./job-contracts.ts";
import { retryDeadLettersSchema } from "./job-schema.ts";
import { limitAnswer, limitPage } from "./limit-answers.ts";
import { limitSchema } from "./limit-schema.ts";
import {
  answerHeader,
  PROBLEMS,
  REQUEST_HEADERS,
  SECURITY_SCHEMES,
  TAGS,
} from "./openapi-parts.ts";
import type {
  JsonSchema,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
} from "./openapi-types.ts";
import { PROBLEM_TYPE, type ProblemStatus, problemTitle } from "./problem.ts";
import { ROUTES, type Route } from "./routes.ts";
import { rotatedSecret, signingSecrets } from "./signing-answers.ts";
import { bulkAnswer, listedTask, occurrencesAnswer, taskAnswer, taskPage } from "./task-answers.ts";
import { TASK_CONTRACTS } from "./task-contracts.ts";
import { bulkInput, previewSchema, runSchema, taskPatchSchema, taskSchema } from "./task-schema.ts";
import { tidySchema } from "./tidy-schema.ts";

/** By operation. */
export const CONTRACTS: Readonly<Record<string, Contract>> = {
  ...TASK_CONTRACTS,
  ...JOB_CONTRACTS,
};

/** The schemas that have a name in the document; what they contain besides is written out. */
const TAKEN: Readonly<Record<string, z.ZodType>> = {
  TaskInput: taskSchema,
  TaskPatch: taskPatchSchema,
  RunInput: runSchema,
  BulkInput: bulkInput,
  PreviewInput: previewSchema,
  RetryDeadLettersInput: retryDeadLettersSchema,
  LimitInput: limitSchema,
};
const ANSWERED: Readonly<Record<string, z.ZodType>> = {
  Task: taskAnswer,
  ListedTask: listedTask,
  TaskPage: taskPage,
  BulkAnswer: bulkAnswer,
  Occurrences: occurrencesAnswer,
  Job: jobAnswer,
  ListedJob: listedJob,
  JobPage: jobPage,
  DeadLetter: deadLetter,
  DeadLetterPage: deadLetterPage,
  RetriedDeadLetters: retriedAnswer,
  TestOutcome: testAnswer,
  CallError: callError,
  Limit: limitAnswer,
  LimitPage: limitPage,
  SigningSecrets: signingSecrets,
  RotatedSecret: rotatedSecret,
  Problem: problemSchema,
};

let document: OpenApiDocument | undefined;

/** The document; made once, on first use. */
export function openApiDocument(): OpenApiDocument {
  document ??= makeDocument();
  return document;
}

function makeDocument(): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of ROUTES) {
    const contract = CONTRACTS[route.operation];
    assert(contract !== undefined, `${route.operation} has a contract`);
    paths[route.path] ??= {};
    const operations = paths[route.path] ?? {};
    operations[route.method.toLowerCase()] = operationOf(route, contract);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "At and cron as a service",
      version: "1",
      description:
        "Have one of your HTTP endpoints called, once at a given time or on a recurring schedule, with priorities, retries, dead letters and a history. Every answer carries `x-request-id`. Errors are problem details (RFC 9457). Answers may get new fields; unknown fields in requests are refused.",
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    security: [{ apiKey: [] }, { iam: [] }],
    paths,
    components: {
      schemas: { ...namedSchemas(TAKEN, "input"), ...namedSchemas(ANSWERED, "output") },
      responses: Object.fromEntries(
        Object.entries(PROBLEMS).map(([status, { name, description }]) => [
          name,
          problemResponse(Number(status) as ProblemStatus, description),
        ]),
      ),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function operationOf(route: Route, contract: Contract): OpenApiOperation {
  const problems = [...problemsOf(route, contract)].sort((a, b) => a - b);
  const responses: Record<string, OpenApiResponse | { $ref: string }> = {};
  for (const [status, answer] of Object.entries(contract.answers))
    responses[status] = responseOf(answer);
  for (const status of problems) {
    const described = PROBLEMS[status];
    assert(described !== undefined, `problem ${status} is described`);
    responses[status] = { $ref: `#/components/responses/${described.name}` };
  }
  const scope = route.scope === null ? "Needs no key." : `Needs the scope \`${route.scope}\`.`;
  const instead = route.insteadOfKey;
  const key = instead && `An \`Idempotency-Key\` is refused: ${instead}.`;
  return {
    operationId: route.operation,
    tags: [contract.tag],
    summary: contract.summary,
    description: [contract.description, key, scope].filter(Boolean).join(" "),
    parameters: [...pathParameters(route), ...queryParameters(contract), ...headersOf(contract)],
    ...(contract.body === null ? {} : { requestBody: requestBodyOf(contract.body) }),
    responses,
    ...(route.scope === null ? { security: [] } : {}),
  };
}

/** The errors that an operation can answer: its own, and those that follow from what it takes. */
function problemsOf(route: Route, { body, problems }: Contract): Set<ProblemStatus> {
  const all = new Set<ProblemStatus>([400, 422, 500, 503, ...problems]);
  if (route.scope !== null) for (const status of [401, 403, 429] as const) all.add(status);
  if (route.path.includes("{") && route.method !== "PUT") all.add(404);
  if (body !== null) for (const status of [413, 415] as const) all.add(status);
  return all;
}

const nameText = z
  .string()
  .min(1)
  .max(NAME_LENGTH_MAX)
  .meta({ examples: ["digest"] });

const PATH_PARAMETERS: Readonly<Record<string, { schema: z.ZodType; description: string }>> = {
  taskId: { schema: taskIdText, description: "The task's id." },
  jobId: { schema: jobIdText, description: "The job's id." },
  name: { schema: nameText, description: "The task's name, percent-encoded." },
};

function pathParameters({ path }: Route): OpenApiParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => {
    const described = PATH_PARAMETERS[name];
    assert(described !== undefined, `path parameter ${name} is described`);
    const { schema, description } = described;
    return { name, in: "path", required: true, description, schema: schemaOf(schema, "input") };
  });
}

function queryParameters({ query }: Contract): OpenApiParameter[] {
  if (query === null) return [];
  const { properties = {}, required = [] } = schemaOf(query, "input");
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
    // A list is one value with commas, or the parameter repeated.
    ...(schema.type === "array" ? { style: "form", explode: false } : {}),
  }));
}

function headersOf({ headers = [] }: Contract): OpenApiParameter[] {
  return headers.map((name) => REQUEST_HEADERS[name]);
}

function requestBodyOf({ schema, required, examples }: BodyContract) {
  return {
    required,
    content: {
      "application/json": {
        schema: schemaOf(schema, "input"),
        ...(Object.keys(examples).length === 0 ? {} : { examples }),
      },
    },
  };
}

function responseOf(answer: AnswerContract): OpenApiResponse {
  const { description, schema, contentType = "application/json", example } = answer;
  const headers = [
    ...(answer.headers ?? []).map((name) => [name, { required: true, ...answerHeader(name) }]),
    ...(answer.perhaps ?? []).map((name) => [name, answerHeader(name)]),
  ];
  return {
    description,
    headers: Object.fromEntries(headers),
    ...(schema === null
      ? {}
      : {
          content: {
            [contentType]: {
              schema: schemaOf(schema, "output"),
              ...(example === undefined ? {} : { example }),
            },
          },
        }),
  };
}

function problemResponse(status: ProblemStatus, description: string): OpenApiResponse {
  const { detail, errors, headers = {} } = PROBLEMS[status] ?? { detail: description };
  const example = { type: "about:blank", title: problemTitle(status), status, detail };
  return {
    description,
    headers,
    content: {
      [PROBLEM_TYPE]: {
        schema: { $ref: "#/components/schemas/Problem" },
        example: errors === undefined ? example : { ...example, errors },
      },
    },
  };
}

function namedSchemas(named: Readonly<Record<string, z.ZodType>>, io: "input" | "output") {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io,
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...rest }]) => [
      id,
      tidySchema(rest as JsonSchema, io),
    ]),
  );
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const [name] =
    Object.entries(io === "input" ? TAKEN : ANSWERED).find(([, one]) => one === schema) ?? [];
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return tidySchema(rest as JsonSchema, io);
}
