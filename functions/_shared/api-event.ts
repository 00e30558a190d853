/** What a request is while it passes the middlewares: the API Gateway event with what they have found out about it. */
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import type { Principal } from "#core/ports/control-store.ts";
import type { Route } from "./routes.ts";

export interface ApiEvent extends APIGatewayProxyEvent {
  route?: Route;
  principal?: Principal;
  /** The parsed body; undefined when there is none. */
  json?: unknown;
  /** When the answer must be there, on the monotonic clock. */
  deadlineMs?: number;
}

/** The local gateway says when the caller has gone away; API Gateway cannot. */
export interface ApiContext extends Context {
  readonly abandoned?: AbortSignal;
}

export type ApiResult = APIGatewayProxyResult;

/** What an operation answers; `body` is JSON text where a page was written, else a value. */
export interface ApiAnswer {
  readonly status: number;
  /** A body is `application/json` unless they say otherwise. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: { readonly json: unknown } | { readonly text: string } | null;
}

/** What an operation is given. */
export interface ApiRequest {
  readonly principal: Principal;
  readonly pathParameters: Readonly<Record<string, string | undefined>>;
  /** Each name with all of its values. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly json: unknown;
  /** Size of the body as it came. */
  readonly bodyBytes: number;
  /** When the answer must be there, on the monotonic clock. */
  readonly deadlineMs: number;
  /** Aborted when nobody waits for the answer any more, where that is known. */
  readonly abandoned: AbortSignal | undefined;
  /** A header's value; the case of its name does not matter. */
  header(name: string): string | undefined;
}

export type Operation = (request: ApiRequest) => Promise<ApiAnswer>;

/** A header of the event; the last one when it is given several times. */
export function headerOf(event: APIGatewayProxyEvent, name: string): string | undefined {
  for (const [key, value] of Object.entries(event.headers ?? {}))
    if (key.toLowerCase() === name) return value;
  return undefined;
}
