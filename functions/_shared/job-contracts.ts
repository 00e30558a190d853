/** The contracts of the jobs API. */
import type { Contract } from "./contract.ts";
import { JOB_EXAMPLE, LISTED_JOB_EXAMPLE } from "./examples.ts";
import { jobAnswer, jobPage } from "./job-answers.ts";
import { taskJobsQuery } from "./job-schema.ts";
import type { OperationOf } from "./routes.ts";

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
};
