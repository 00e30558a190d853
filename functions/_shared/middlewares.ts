/** The middlewares of every API handler, in the order in which they run: find the route, authenticate, read the body; on errors, problem details. */
import { createHash } from "node:crypto";
import type { MiddlewareObj } from "@middy/core";
import { OperatingError, OutcomeUnknown } from "#core/domain/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { ControlStore } from "#core/ports/control-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { ApiEvent, ApiResult } from "./api-event.ts";
import { headerOf } from "./api-event.ts";
import { withDeadline } from "./deadline.ts";
import { HttpProblem, PROBLEM_TYPE, problemBody } from "./problem.ts";
import { readJson } from "./read-json.ts";
import type { Route } from "./routes.ts";

export type ApiMiddleware = MiddlewareObj<ApiEvent, ApiResult>;

/** A request that finds no answer in this time is answered 503. */
const REQUEST_DEADLINE_MS = 10_000;
const RETRY_AFTER_SECONDS = "2";
const API_KEY_LENGTH_MAX = 200;

/** Notes the route and the deadline; every later step may rely on both. */
export function findRoute(routes: readonly Route[], clock: Clock): ApiMiddleware {
  const byKey = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
  return {
    before: ({ event }) => {
      event.deadlineMs = clock.monotonicMs() + REQUEST_DEADLINE_MS;
      const route = byKey.get(`${event.httpMethod} ${event.resource}`);
      if (route === undefined) throw new HttpProblem(404, "there is no such route");
      event.route = route;
    },
  };
}

/**
 * Finds the key's tenant and checks the route's scope. Keys are looked up by their hash, so the time that it takes tells
 * nothing about a key.
 */
export function authenticate(control: ControlStore, clock: Clock): ApiMiddleware {
  return {
    before: async ({ event }) => {
      const { route, deadlineMs = 0 } = event;
      if (route === undefined || route.scope === null) return;
      const key = headerOf(event, "x-api-key");
      if (key === undefined || key === "")
        throw new HttpProblem(401, "an API key is needed, in the header x-api-key");
      if (key.length > API_KEY_LENGTH_MAX) throw unknownKey();
      const hash = createHash("sha256").update(key).digest("hex");
      const found = control.findPrincipalByKeyHash(hash);
      const principal = await withDeadline(clock, deadlineMs, "read", found);
      if (principal === null) throw unknownKey();
      if (!principal.scopes.includes(route.scope))
        throw new HttpProblem(403, `this API key lacks the scope "${route.scope}"`);
      event.principal = principal;
    },
  };
}

function unknownKey(): HttpProblem {
  return new HttpProblem(401, "this API key is not known");
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
        const code = error instanceof OperatingError ? error.code : (error?.name ?? "unknown");
        const fields = { code, requestId, route: event.resource, status: problem.status };
        logger.error(
          "request not served: the caller is told to try again",
          error instanceof OperatingError ? { ...fields, message: error.message } : fields,
        );
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
  if (error instanceof OperatingError && error.retryable)
    return new HttpProblem(503, "the database is away or busy: try again", {
      headers,
      cause: error,
    });
  return new HttpProblem(500, "an error of ours; it has been logged", { cause: error });
}
