/** The middlewares of every API handler, in the order in which they run: find the route, authenticate (authenticate.ts), read the body; on errors, problem details. */

import type { MiddlewareObj } from "@middy/core";
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError, OutcomeUnknown } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";
import type { ApiEvent, ApiResult } from "./api-event.ts";
import { HttpProblem, PROBLEM_TYPE, problemBody } from "./problem.ts";
import { readJson } from "./read-json.ts";
import type { Route } from "./routes.ts";

export type ApiMiddleware = MiddlewareObj<ApiEvent, ApiResult>;

/** A request that finds no answer in this time is answered 503. */
const REQUEST_DEADLINE_MS = 10_000;
const RETRY_AFTER_SECONDS = "2";

/** Notes the route and the deadline; every later step may rely on both. */
export function findRoute(routes: readonly Route[], clock: Clock): ApiMiddleware {
  const byKey = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
  return {
    before: ({ event }) => {
      const route = byKey.get(`${event.httpMethod} ${event.resource}`);
      event.deadlineMs = clock.monotonicMs() + (route?.deadlineMs ?? REQUEST_DEADLINE_MS);
      if (route === undefined) throw new HttpProblem(404, "there is no such route");
      event.route = route;
    },
  };
}

/** Parses the body of requests that have one. */
export function parseBody(): ApiMiddleware {
  return {
    before: ({ event }) => {
      const { method } = event.route ?? {};
      if (method === "GET" || method === "DELETE") return;
      event.json = readJson(event);
    },
  };
}

/** Turns what was thrown into a problem document. Only our own words leave: never a driver's or the runtime's message. */
export function answerProblems(logger: Logger): ApiMiddleware {
  return {
    onError: ({ event, error }) => {
      const problem = error instanceof HttpProblem ? error : problemOf(error);
      const { requestId } = event.requestContext;
      if (problem.status >= 500) {
        const fields = { requestId, route: event.resource, status: problem.status };
        logger.error("request not served: the caller is told to try again", {
          ...fields,
          ...describeError(error),
        });
      }
      return {
        statusCode: problem.status,
        headers: { ...problem.headers, "content-type": PROBLEM_TYPE, "x-request-id": requestId },
        body: problemBody(problem),
      };
    },
  };
}

function problemOf(error: unknown): HttpProblem {
  const headers = { "retry-after": RETRY_AFTER_SECONDS };
  if (error instanceof OutcomeUnknown) {
    const detail =
      "the database did not answer: the change may have been made or not; look before trying again";
    return new HttpProblem(503, detail, { headers, cause: error });
  }
  if (error instanceof OperatingError && error.retryable) {
    const detail =
      error instanceof SecretsUnavailable
        ? "the master key of secrets is away: try again"
        : "the database is away or busy: try again";
    return new HttpProblem(503, detail, { headers, cause: error });
  }
  return new HttpProblem(500, "an error of ours; it has been logged", { cause: error });
}
