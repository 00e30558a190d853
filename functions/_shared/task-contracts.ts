/** The contracts of the tasks API. */
import { z } from "zod";
import type { AnswerContract, Contract } from "./contract.ts";
import {
  LISTED_TASK_EXAMPLE,
  MANUAL_JOB_EXAMPLE,
  TASK_EXAMPLE,
  TEST_EXAMPLE,
  TEST_JOB_EXAMPLE,
} from "./examples.ts";
import { nothingSchema } from "./field-types.ts";
import { jobAnswer, testAnswer } from "./job-answers.ts";
import { LIMIT_CONTRACTS } from "./limit-contracts.ts";
import type { OperationOf } from "./routes.ts";
import {
  ROTATED_SECRET_EXAMPLE,
  rotatedSecret,
  SIGNING_SECRETS_EXAMPLE,
  signingSecrets,
} from "./signing-answers.ts";
import {
  bulkAnswer,
  healthAnswer,
  occurrencesAnswer,
  taskAnswer,
  taskPage,
} from "./task-answers.ts";
import {
  bulkInput,
  listTasksQuery,
  previewSchema,
  runSchema,
  taskPatchSchema,
  taskSchema,
  upcomingQuery,
} from "./task-schema.ts";

const { schedule, request } = TASK_EXAMPLE;

const theTask: AnswerContract = {
  description: "The task as it is now.",
  schema: taskAnswer,
  headers: ["etag"],
  example: TASK_EXAMPLE,
};

const NOTHING = { schema: nothingSchema, required: false, examples: {} };

const OCCURRENCES: AnswerContract = {
  description: "The next runs, earliest first.",
  schema: occurrencesAnswer,
  example: {
    items: [{ at: "2026-12-01T08:00:00.000Z", local: "2026-12-01T09:00:00.000+01:00" }],
    warnings: [],
  },
};

const taskExamples = {
  daily: {
    summary: "Every day at 9:00 in Madrid",
    value: {
      name: "digest",
      priority: "high",
      schedule,
      request: {
        url: request.url,
        headers: request.headers,
        body: request.body,
      },
      retry: { maxAttempts: 3 },
    },
  },
  once: {
    summary: "Once",
    value: {
      schedule: { type: "at", at: "2026-12-01T09:00:00Z" },
      request: { url: "https://example.com/reminders/17" },
    },
  },
  every: {
    summary: "Every 15 minutes, without a body",
    value: {
      schedule: { type: "every", seconds: 900 },
      request: { method: "GET", url: "https://example.com/ping" },
      catchUp: "none",
    },
  },
};

export const TASK_CONTRACTS: Readonly<Record<OperationOf<"tasks-api">, Contract>> = {
  getHealth: {
    tag: "service",
    summary: "Whether MySQL answers",
    query: null,
    body: null,
    answers: {
      200: {
        description: "All do.",
        schema: healthAnswer,
        example: { status: "ok", database: "ok" },
      },
    },
    problems: [],
  },
  getOpenApi: {
    tag: "service",
    summary: "This document",
    query: null,
    body: null,
    answers: { 200: { description: "OpenAPI 3.1.", schema: z.record(z.string(), z.unknown()) } },
    problems: [],
  },
  getDocs: {
    tag: "service",
    summary: "This document as a page to read",
    query: null,
    body: null,
    answers: {
      200: {
        description: "A page that needs nothing from elsewhere.",
        schema: z.string(),
        contentType: "text/html",
      },
    },
    problems: [],
  },
  createTask: {
    tag: "tasks",
    summary: "Create a task",
    query: null,
    headers: ["idempotency-key"],
    body: { schema: taskSchema, required: true, examples: taskExamples },
    answers: {
      201: {
        description: "The task.",
        schema: taskAnswer,
        headers: ["etag", "location"],
        perhaps: ["idempotency-replayed"],
        example: TASK_EXAMPLE,
      },
    },
    problems: [409],
  },
  createTasks: {
    tag: "tasks",
    summary: "Create up to 200 tasks",
    description:
      "Each item stands for itself: some may be made and others refused. The same request again makes those without a name a second time, unless it has an `Idempotency-Key`: then it gets the first answer, refusals too, if that had made one.",
    query: null,
    headers: ["idempotency-key"],
    body: {
      schema: bulkInput,
      required: true,
      examples: {
        two: {
          summary: "Two tasks",
          value: { items: [taskExamples.daily.value, taskExamples.once.value] },
        },
      },
    },
    answers: {
      200: {
        description: "What became of each.",
        schema: bulkAnswer,
        perhaps: ["idempotency-replayed"],
        example: {
          items: [
            { status: 201, task: TASK_EXAMPLE },
            {
              status: 409,
              problem: {
                type: "about:blank",
                title: "Conflict",
                status: 409,
                detail: "another task has this name",
                taskId: TASK_EXAMPLE.id,
              },
            },
          ],
        },
      },
    },
    problems: [409],
  },
  putTask: {
    tag: "tasks",
    summary: "Create or replace a task by name",
    description:
      "The task of this name is as the request says afterwards, whatever it was before; what is not given has its default. `name` may be left out of the body.",
    query: null,
    headers: ["if-match", "if-none-match"],
    body: { schema: taskSchema, required: true, examples: taskExamples },
    answers: {
      200: { ...theTask, description: "Replaced: the task as it is now." },
      201: {
        description: "Created.",
        schema: taskAnswer,
        headers: ["etag", "location"],
        example: TASK_EXAMPLE,
      },
    },
    problems: [409, 412],
  },
  listTasks: {
    tag: "tasks",
    summary: "List tasks, newest first",
    description: "Items have `request.bodyBytes` in place of the body.",
    query: listTasksQuery,
    body: null,
    answers: {
      200: {
        description: "One page; by priority or tag it may be short, or empty, and not be the last.",
        schema: taskPage,
        example: { items: [LISTED_TASK_EXAMPLE], nextCursor: null },
      },
    },
    problems: [],
  },
  getTask: {
    tag: "tasks",
    summary: "Read a task",
    query: null,
    body: null,
    answers: { 200: theTask },
    problems: [],
  },
  getTaskByName: {
    tag: "tasks",
    summary: "Read a task by name",
    description: "A task without a name has its id for one.",
    query: null,
    body: null,
    answers: { 200: theTask },
    problems: [],
  },
  editTask: {
    tag: "tasks",
    summary: "Change a task",
    description:
      "A JSON merge patch: what is not given stays, null goes back to the default; `schedule` is replaced whole. The result is checked as a new task is. Jobs that exist already keep the request they were made with, except those planned more than 30 s ahead, which are made anew. Those planned for the next 30 s are called also when `schedule`, `startAt` or `endAt` changes; a pause before it cancels them, if its resume comes after their times. A `request.url` with another scheme, host or port takes the task's secrets given anew, or taken away, as in a PUT: each is sent only to the origin that it was given for. Jobs that keep a request to another origin end dead, uncalled.",
    query: null,
    headers: ["if-match"],
    body: {
      schema: taskPatchSchema,
      required: true,
      examples: {
        slower: {
          summary: "Fewer attempts, without the name",
          value: { name: null, retry: { maxAttempts: 2 } },
        },
      },
    },
    answers: { 200: theTask },
    problems: [409, 412],
  },
  deleteTask: {
    tag: "tasks",
    summary: "Delete a task",
    description:
      "Its name is free at once. Its jobs stay readable; those that wait, between two attempts too, are cancelled. 503 that says so: more jobs than one request gets through; ask again until it is 204 or 404.",
    query: null,
    headers: ["if-match"],
    body: null,
    answers: { 204: { description: "Gone.", schema: null } },
    problems: [412],
  },
  pauseTask: {
    tag: "tasks",
    summary: "Pause a task",
    description:
      "Jobs that wait are cancelled for good: between two attempts too, and dead ones that are to be retried. Of a call under way a success counts, and a failure is not retried. A resume takes back scheduled runs whose time is still to come, no other job. Pausing a paused task changes nothing. 503 that says so: more jobs than one request gets through; ask again until it is 200.",
    query: null,
    body: NOTHING,
    answers: { 200: theTask },
    problems: [409],
  },
  resumeTask: {
    tag: "tasks",
    summary: "Resume a task",
    description:
      "It goes on from now. What passed meanwhile is one cancelled job, and never runs; nor do jobs that the pause has cancelled, but for scheduled runs whose time is still to come.",
    query: null,
    body: NOTHING,
    answers: { 200: theTask },
    problems: [409],
  },
  runTask: {
    tag: "tasks",
    summary: "Run a task now",
    description:
      "Works while it is paused or completed too. What is given is laid over the task's request, for this run.",
    query: null,
    headers: ["idempotency-key"],
    body: {
      schema: runSchema,
      required: false,
      examples: {
        plain: { summary: "As the task says", value: {} },
        other: { summary: "With another body", value: { request: { body: '{"a":2}' } } },
      },
    },
    answers: {
      202: {
        description: "The job, which is due now.",
        schema: jobAnswer,
        headers: ["location"],
        perhaps: ["idempotency-replayed"],
        example: MANUAL_JOB_EXAMPLE,
      },
    },
    problems: [409],
  },
  testTask: {
    tag: "tasks",
    summary: "Run a task now and wait for what comes of it",
    description:
      "The call is that of a scheduled run in everything: executors send it, with the task's request. It is made once, the schedule does not move, and it works while the task is paused or completed too. A tenant may have 10 a minute.",
    query: null,
    body: NOTHING,
    answers: {
      200: {
        description: "It has ended, well or not.",
        schema: testAnswer,
        headers: ["location"],
        example: TEST_EXAMPLE,
      },
      202: {
        description: "It has not ended within 25 s: the job, to be read until it has.",
        schema: jobAnswer,
        headers: ["location"],
        example: TEST_JOB_EXAMPLE,
      },
    },
    problems: [],
  },
  ...LIMIT_CONTRACTS,
  listSigningSecrets: {
    tag: "signing",
    summary: "What calls are signed with",
    description: "By fingerprint: nobody can read a secret again.",
    query: null,
    body: null,
    answers: {
      200: {
        description: "The valid ones.",
        schema: signingSecrets,
        example: SIGNING_SECRETS_EXAMPLE,
      },
    },
    problems: [],
  },
  rotateSigningSecret: {
    tag: "signing",
    summary: "Make a new signing secret",
    description:
      "Also the first one to read. Calls are signed with the one before it too for 24 hours, so that an answer that was lost can be asked for again: of those there are two at most, a third rotation in that time ends the oldest at once. Calls follow within 30 seconds.",
    query: null,
    body: NOTHING,
    answers: {
      200: {
        description: "The new secret, this once.",
        schema: rotatedSecret,
        example: ROTATED_SECRET_EXAMPLE,
      },
    },
    problems: [],
  },
  listUpcoming: {
    tag: "schedules",
    summary: "When a task runs next",
    query: upcomingQuery,
    body: null,
    answers: { 200: OCCURRENCES },
    problems: [],
  },
  previewSchedule: {
    tag: "schedules",
    summary: "When a schedule would run",
    query: null,
    body: {
      schema: previewSchema,
      required: true,
      examples: { daily: { summary: "Three days", value: { schedule, count: 3 } } },
    },
    answers: { 200: OCCURRENCES },
    problems: [],
  },
};
