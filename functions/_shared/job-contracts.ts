/** The contracts of the jobs API. */
import type { Contract } from "./contract.ts";
import {
  CANCELLED_JOB_EXAMPLE,
  JOB_EXAMPLE,
  LISTED_JOB_EXAMPLE,
  RETRIED_JOB_EXAMPLE,
} from "./examples.ts";
import { nothingSchema } from "./field-types.ts";
import { deadLetterPage, jobAnswer, jobPage, retriedAnswer } from "./job-answers.ts";
import { deadLettersQuery, retryDeadLettersSchema, taskJobsQuery } from "./job-schema.ts";
import type { OperationOf } from "./routes.ts";

const NOTHING = { schema: nothingSchema, required: false, examples: {} };

export const JOB_CONTRACTS: Readonly<Record<OperationOf<"jobs-api">, Contract>> = {
  listTaskJobs: {
    tag: "jobs",
    summary: "List a task's jobs, newest first",
    description:
      "Those under way, finished and archived, of a deleted task too. A running job whose time has not come shows as `pending`.",
    query: taskJobsQuery,
    body: null,
    answers: {
      200: {
        description: "One page; it may be short, or empty, and not be the last.",
        schema: jobPage,
        example: { items: [LISTED_JOB_EXAMPLE], nextCursor: null },
      },
    },
    problems: [],
  },
  getJob: {
    tag: "jobs",
    summary: "Read a job with its attempts",
    query: null,
    body: null,
    answers: { 200: { description: "The job.", schema: jobAnswer, example: JOB_EXAMPLE } },
    problems: [],
  },
  retryJob: {
    tag: "jobs",
    summary: "Retry a dead job",
    description:
      "It is due at once and may make as many attempts more as its task says; its id, attempts and history go on. One that is archived already is made anew, under a new id, with `retryOf` and its task's request of now.",
    query: null,
    headers: ["idempotency-key"],
    body: NOTHING,
    answers: {
      202: {
        description: "The job.",
        schema: jobAnswer,
        headers: ["location"],
        perhaps: ["idempotency-replayed"],
        example: RETRIED_JOB_EXAMPLE,
      },
    },
    problems: [409],
  },
  cancelJob: {
    tag: "jobs",
    summary: "Cancel a job",
    query: null,
    body: NOTHING,
    answers: {
      200: {
        description: "Cancelled, by this request or by one before it.",
        schema: jobAnswer,
        example: CANCELLED_JOB_EXAMPLE,
      },
      202: {
        description:
          "Under way: what is not sent yet is cancelled within 3 s; of a call that is, a success counts and a failure is not retried.",
        schema: jobAnswer,
        example: { ...CANCELLED_JOB_EXAMPLE, status: "running", finishedAt: null },
      },
    },
    problems: [409],
  },
  listDeadLetters: {
    tag: "dead letters",
    summary: "List dead jobs, the last that died first",
    description: "Until they are archived, which is 14 days after their death.",
    query: deadLettersQuery,
    body: null,
    answers: {
      200: {
        description: "One page.",
        schema: deadLetterPage,
        example: {
          items: [{ ...LISTED_JOB_EXAMPLE, diedAt: LISTED_JOB_EXAMPLE.finishedAt }],
          nextCursor: null,
        },
      },
    },
    problems: [],
  },
  retryDeadLetters: {
    tag: "dead letters",
    summary: "Retry all dead jobs that a filter matches",
    description:
      "The first that died goes first. There may be more: ask again with the same `to`, such as the time of the first request, until `moved` is 0, each time when what was moved has started (`moved` ÷ `perSecond` s). Without `to` what has died again is matched again. 422 for `to`: so many dead jobs of deleted tasks come first that one request does not pass over them; ask with the `to` that it says.",
    query: null,
    body: {
      schema: retryDeadLettersSchema,
      required: false,
      examples: {
        ofOneTask: {
          summary: "Those of one task, 5 a second",
          value: { taskId: JOB_EXAMPLE.taskId, perSecond: 5 },
        },
      },
    },
    answers: {
      202: {
        description: "What has been done.",
        schema: retriedAnswer,
        example: { matched: 12, moved: 11, failed: 1 },
      },
    },
    problems: [],
  },
};
