/** The contracts of call limits. */
import type { Contract } from "./contract.ts";
import { LIMIT_EXAMPLE, limitAnswer, limitPage } from "./limit-answers.ts";
import { deleteLimitQuery, limitSchema, listLimitsQuery } from "./limit-schema.ts";

const TENANT_LIMIT_EXAMPLE = {
  ...LIMIT_EXAMPLE,
  endpoint: null,
  concurrency: null,
  perSecond: 50,
  waiting: 0,
};

export const LIMIT_CONTRACTS = {
  listLimits: {
    tag: "limits",
    summary: "List the tenant's limits",
    description:
      "That of all calls first, then by endpoint; those too that only the operator has set.",
    query: listLimitsQuery,
    body: null,
    answers: {
      200: {
        description: "One page.",
        schema: limitPage,
        example: { items: [TENANT_LIMIT_EXAMPLE, LIMIT_EXAMPLE], nextCursor: null },
      },
    },
    problems: [],
  },
  putLimit: {
    tag: "limits",
    summary: "Limit the calls to an endpoint, or all calls",
    description:
      "It holds over all executors, for this tenant's calls; where several limits hold, each is kept. A job over a limit is `waiting`, which costs no attempt and holds no other job up. The limit is as the request says afterwards: what is not given is not limited. A change holds for calls that start after it; a new limit also for jobs that wait by then, but not for calls that executors have taken already. A tenant may have set 1,000 at a time.",
    query: null,
    body: {
      schema: limitSchema,
      required: true,
      examples: {
        endpoint: {
          summary: "Five calls at once to an endpoint",
          value: { endpoint: "https://api.example.com", concurrency: 5 },
        },
        tenant: {
          summary: "50 calls a second altogether",
          value: { endpoint: null, perSecond: 50 },
        },
      },
    },
    answers: {
      200: { description: "The limit.", schema: limitAnswer, example: LIMIT_EXAMPLE },
    },
    problems: [],
  },
  deleteLimit: {
    tag: "limits",
    summary: "Take a limit away",
    description: "What waits goes on. A cap that the operator has set stays.",
    query: deleteLimitQuery,
    body: null,
    answers: { 204: { description: "Gone.", schema: null } },
    problems: [404],
  },
} as const satisfies Readonly<Record<string, Contract>>;
