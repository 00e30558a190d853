/** Builds the Lambda handler of an API from its operations: middy with the middlewares of every API, and the route's operation. */
import middy, { type MiddyfiedHandler } from "@middy/core";
import { systemDigest } from "#adapters/system/digest.ts";
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Principal, PrincipalStore } from "#core/ports/control-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type {
  ApiAnswer,
  ApiContext,
  ApiEvent,
  ApiRequest,
  ApiResult,
  Operation,
} from "./api-event.ts";
import { headerOf } from "./api-event.ts";
import { authenticate } from "./authenticate.ts";
import { withDeadline } from "./deadline.ts";
import { answerProblems, findRoute, parseBody } from "./middlewares.ts";
import { fieldsProblem } from "./problem.ts";
import { type OperationOf, ROUTES, type Route } from "./routes.ts";

export interface ApiDeps {
  readonly control: PrincipalStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type ApiHandler = MiddyfiedHandler<ApiEvent, ApiResult, Error, ApiContext>;

/** Whoever calls a route that needs no key. */
const NOBODY: Principal = {
  tenantId: "nobody" as TenantId,
  scopes: [],
  quotas: QUOTAS_DEFAULT,
};

/** The handler of the routes whose `handler` is `name`. */
export function createApi<H extends Route["handler"]>(
  name: H,
  operations: Readonly<Record<OperationOf<H>, Operation>>,
  { control, clock, logger }: ApiDeps,
): ApiHandler {
  const byName: Readonly<Record<string, Operation>> = operations;
  const routes: readonly Route[] = ROUTES.filter((route) => route.handler === name);
  return middy(async (event: ApiEvent, context: ApiContext): Promise<ApiResult> => {
    const { route, deadlineMs } = event;
    assert(route !== undefined && deadlineMs !== undefined, "the route is found before");
    const operation = byName[route.operation];
    assert(operation !== undefined, `${name} has an operation ${route.operation}`);
    const kind = route.method === "GET" ? "read" : "write";
    refuseKey(route, event);
    const request = requestOf(event, deadlineMs, context.abandoned);
    const answer = await withDeadline(clock, deadlineMs, kind, operation(request));
    return resultOf(answer, event.requestContext.requestId);
  })
    .use(findRoute(routes, clock))
    .use(authenticate(control, clock, systemDigest))
    .use(parseBody())
    .use(answerProblems(logger));
}

/** Ignored, it would promise a caller that he may repeat what he may not. */
function refuseKey({ insteadOfKey }: Route, event: ApiEvent): void {
  if (insteadOfKey === undefined || headerOf(event, "idempotency-key") === undefined) return;
  const message = `is not taken here: ${insteadOfKey}`;
  throw fieldsProblem([{ field: "Idempotency-Key", message }]);
}

function requestOf(
  event: ApiEvent,
  deadlineMs: number,
  abandoned: AbortSignal | undefined,
): ApiRequest {
  return {
    deadlineMs,
    abandoned,
    principal: event.principal ?? NOBODY,
    pathParameters: event.pathParameters ?? {},
    query: queryOf(event),
    json: event.json,
    bodyBytes: bytesOf(event),
    header: (name) => headerOf(event, name),
  };
}

function bytesOf({ body, isBase64Encoded }: ApiEvent): number {
  return body ? Buffer.byteLength(body, isBase64Encoded ? "base64" : "utf8") : 0;
}

function queryOf(event: ApiEvent): Record<string, readonly string[]> {
  const query: Record<string, readonly string[]> = Object.create(null);
  for (const [name, value] of Object.entries(event.queryStringParameters ?? {}))
    if (value !== undefined) query[name] = [value];
  for (const [name, values] of Object.entries(event.multiValueQueryStringParameters ?? {}))
    if (values !== undefined) query[name] = values;
  return query;
}

function resultOf({ status, headers, body }: ApiAnswer, requestId: string): ApiResult {
  const all = { ...headers, "x-request-id": requestId };
  if (body === null) return { statusCode: status, headers: all, body: "" };
  return {
    statusCode: status,
    headers: { "content-type": "application/json", ...all },
    body: "text" in body ? body.text : JSON.stringify(body.json),
  };
}
