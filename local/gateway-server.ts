/**
 * API Gateway's stand-in: an HTTP server that finds the route, makes the event, calls the handler in process and writes its answer.
 * It holds to the limits that the real one has (10 MB a request, 10 KB of headers, 6 MB an invocation and its answer, 29 s, a
 * usage plan's rate and burst for each API key), and whatever comes in, it answers with a problem document and goes on.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { APIGatewayProxyResult } from "aws-lambda";
import type { ApiContext } from "#functions/_shared/api-event.ts";
import type { ApiHandler } from "#functions/_shared/create-api.ts";
import { HttpProblem, PROBLEM_TYPE, problemBody } from "#functions/_shared/problem.ts";
import { ROUTES, type Route } from "#functions/_shared/routes.ts";
import { apiKeyIdOf, makeContext, makeEvent } from "./gateway-event.ts";
import { matchRoute } from "./gateway-routes.ts";
import { TokenBuckets } from "./token-buckets.ts";

const MB = 1024 * 1024;
const THROWN_AWAY_FACTOR = 8;
const CONNECTIONS_MAX = 1_024;
const BUCKETS_MAX = 10_000;

export interface GatewayLimits {
  readonly requestBytesMax: number;
  readonly invocationBytesMax: number;
  /** From the last byte of the request to the answer. */
  readonly invocationMs: number;
  /** From the first byte of the request to the last. */
  readonly requestMs: number;
  /** The request line and the values of all headers. */
  readonly headerBytesMax: number;
  /** Of each API key, and of all requests without one together. */
  readonly ratePerSecond: number;
  readonly burst: number;
}

export const GATEWAY_LIMITS: GatewayLimits = {
  requestBytesMax: 10 * MB,
  invocationBytesMax: 6 * MB,
  invocationMs: 29_000,
  requestMs: 30_000,
  headerBytesMax: 10_240,
  ratePerSecond: 10_000,
  burst: 5_000,
};

export type Handlers = Readonly<Record<Route["handler"], ApiHandler>>;

/** A server that is not listening yet. `monotonicMs` is what the rate is counted by. */
export function createGateway(
  handlers: Handlers,
  onError: (error: unknown) => void,
  limits: GatewayLimits = GATEWAY_LIMITS,
  monotonicMs: () => number = () => performance.now(),
): Server {
  const buckets = new TokenBuckets({ ...limits, bucketsMax: BUCKETS_MAX });
  const server = createServer(
    {
      requestTimeout: limits.requestMs,
      headersTimeout: Math.min(limits.requestMs, 10_000),
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 5_000,
      maxHeaderSize: 16 * 1024,
    },
    (request, response) => {
      const requestId = randomUUID();
      // The gateway's own refusals carry it too; a handler's answer says the same one.
      response.setHeader("x-request-id", requestId);
      const admit = () => refuseBeyond(buckets.take(apiKeyIdOf(request) ?? "", monotonicMs()));
      answer(request, response, requestId, handlers, limits, admit).catch((error: unknown) => {
        if (!(error instanceof HttpProblem)) onError(error);
        writeProblem(response, asProblem(error));
      });
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.on("clientError", answerGarbage);
  return server;
}

function asProblem(error: unknown): HttpProblem {
  return error instanceof HttpProblem
    ? error
    : new HttpProblem(500, "an error of ours; it has been logged", { cause: error });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  handlers: Handlers,
  limits: GatewayLimits,
  admit: () => void,
): Promise<void> {
  const target = request.url ?? "";
  refuseLargeHeaders(request, limits.headerBytesMax);
  const at = target.indexOf("?");
  const path = at < 0 ? target : target.slice(0, at);
  const query = at < 0 ? "" : target.slice(at + 1);
  const match = matchRoute<Route>(ROUTES, request.method ?? "", path);
  if (match.kind === "malformed") throw malformed();
  if (match.kind === "no-such-path") throw new HttpProblem(404, "there is no such path");
  if (match.kind === "method-not-allowed") {
    const allow = match.allow.join(", ");
    throw new HttpProblem(405, `this path knows ${allow}`, { headers: { allow } });
  }
  const { route, pathParameters } = match;
  admit();
  const body = await readBody(request, limits.requestBytesMax);
  const parts = { request, path, query, resource: route.path, pathParameters, body, requestId };
  const event = makeEvent(parts);
  if (event === null) throw malformed();
  if (Buffer.byteLength(JSON.stringify(event)) > limits.invocationBytesMax)
    throw new HttpProblem(413, `a request has at most ${limits.invocationBytesMax} bytes`);
  const abandoned = new AbortController();
  response.once("close", () => abandoned.abort());
  const context = {
    ...makeContext(route.handler, performance.now() + limits.invocationMs),
    abandoned: abandoned.signal,
  };
  const result = await invoke(handlers[route.handler], event, context, limits.invocationMs);
  if (Buffer.byteLength(JSON.stringify(result)) > limits.invocationBytesMax)
    throw new Error("the answer is larger than an invocation may answer");
  writeResult(response, result);
}

function refuseLargeHeaders({ method = "", url = "", rawHeaders }: IncomingMessage, max: number) {
  // Names and values take turns. Headers are Latin-1: a character is a byte.
  const values = rawHeaders.filter((_, at) => at % 2 === 1);
  const bytes = values.reduce((sum, value) => sum + value.length, method.length + url.length);
  if (bytes > max)
    throw new HttpProblem(431, `the request line and the headers have at most ${max} bytes`);
}

function refuseBeyond(waitMs: number): void {
  if (waitMs === 0) return;
  const headers = { "retry-after": String(Math.ceil(waitMs / 1_000)) };
  throw new HttpProblem(429, "this API key sends more requests than it may: slow down", {
    headers,
  });
}

function malformed(): HttpProblem {
  return new HttpProblem(400, "the path or the query cannot be decoded");
}

/**
 * Reads the whole body. What is beyond the limit is read and thrown away, so that the client, which is still sending, gets to
 * hear of it; only a client that goes on and on is cut off.
 */
async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
    if (bytes > bytesMax * THROWN_AWAY_FACTOR) break;
  }
  if (bytes > bytesMax) throw new HttpProblem(413, `a request has at most ${bytesMax} bytes`);
  return Buffer.concat(chunks);
}

async function invoke(
  handler: ApiHandler,
  event: NonNullable<ReturnType<typeof makeEvent>>,
  context: ApiContext,
  invocationMs: number,
): Promise<APIGatewayProxyResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new HttpProblem(504, "no answer in time; a change may have been made or not")),
      invocationMs,
    );
  });
  try {
    return await Promise.race([handler(event, context), late]);
  } finally {
    clearTimeout(timer);
  }
}

function writeResult(response: ServerResponse, result: APIGatewayProxyResult): void {
  const body = Buffer.from(result.body, result.isBase64Encoded === true ? "base64" : "utf8");
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(result.headers ?? {})) headers[name] = String(value);
  if (result.statusCode !== 204) headers["content-length"] = String(body.length);
  response.writeHead(result.statusCode, headers).end(body);
}

function writeProblem(response: ServerResponse, problem: HttpProblem): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const body = problemBody(problem);
  response.writeHead(problem.status, {
    ...problem.headers,
    "content-type": PROBLEM_TYPE,
    "content-length": String(Buffer.byteLength(body)),
  });
  response.end(body);
}

/** What the HTTP parser refuses, or what came too slowly, never reaches a handler. */
function answerGarbage(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, words, detail] =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? ([408, "Request Timeout", "the request did not arrive in time"] as const)
      : error.code === "HPE_HEADER_OVERFLOW"
        ? ([431, "Request Header Fields Too Large", "the headers are too large"] as const)
        : ([400, "Bad Request", "this is not an HTTP request"] as const);
  const body = JSON.stringify({ type: "about:blank", title: words, status, detail });
  socket.end(
    `HTTP/1.1 ${status} ${words}\r\ncontent-type: ${PROBLEM_TYPE}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
