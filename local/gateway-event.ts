/** Turns an HTTP request into the event and the context that a Lambda function behind API Gateway (REST, v1) is called with. */
import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import { type KeyId, keyIdOfHash } from "#core/domain/key-id.ts";

export interface EventParts {
  readonly request: IncomingMessage;
  /** The raw path, without the query. */
  readonly path: string;
  /** The raw query, without the question mark. */
  readonly query: string;
  /** The route's path, such as `/v1/tasks/{taskId}`. */
  readonly resource: string;
  readonly pathParameters: Record<string, string>;
  readonly body: Buffer;
  readonly requestId: string;
}

const STAGE = "local";

/** The event. Null when the query cannot be decoded. */
export function makeEvent(parts: EventParts): APIGatewayProxyEvent | null {
  const { request, path, resource, pathParameters, body } = parts;
  const query = parseQuery(parts.query);
  if (query === null) return null;
  const headers = multiHeaders(request.rawHeaders);
  const text = body.toString("utf8");
  // Gateways hand text through as it is; what is no UTF-8 would be altered on the way.
  const isText = Buffer.from(text, "utf8").equals(body);
  return {
    resource,
    path,
    httpMethod: request.method ?? "",
    headers: lastOfEach(headers),
    multiValueHeaders: headers,
    queryStringParameters: Object.keys(query).length === 0 ? null : lastOfEach(query),
    multiValueQueryStringParameters: Object.keys(query).length === 0 ? null : query,
    pathParameters: Object.keys(pathParameters).length === 0 ? null : pathParameters,
    stageVariables: null,
    body: body.length === 0 ? null : isText ? text : body.toString("base64"),
    isBase64Encoded: !isText,
    requestContext: requestContext(parts, headers),
  };
}

function requestContext(
  { request, path, resource, requestId }: EventParts,
  headers: Readonly<Record<string, string[]>>,
): APIGatewayProxyEvent["requestContext"] {
  const nowMs = Date.now();
  return {
    accountId: "000000000000",
    apiId: "local",
    authorizer: null,
    httpMethod: request.method ?? "",
    identity: {
      accessKey: null,
      accountId: null,
      apiKey: headers["x-api-key"]?.at(-1) ?? null,
      apiKeyId: apiKeyIdOf(request),
      caller: null,
      clientCert: null,
      cognitoAuthenticationProvider: null,
      cognitoAuthenticationType: null,
      cognitoIdentityId: null,
      cognitoIdentityPoolId: null,
      principalOrgId: null,
      sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
      user: null,
      userAgent: headers["user-agent"]?.at(-1) ?? null,
      userArn: null,
    },
    path: `/${STAGE}${path}`,
    protocol: `HTTP/${request.httpVersion}`,
    requestId,
    requestTime: new Date(nowMs).toUTCString(),
    requestTimeEpoch: nowMs,
    resourceId: resource,
    resourcePath: resource,
    stage: STAGE,
  };
}

/** Which API key a request has, without its secret; null when it has none. Of several, all of them together. */
export function apiKeyIdOf({ headers }: IncomingMessage): KeyId | null {
  const key = headers["x-api-key"];
  if (key === undefined || key === "") return null;
  return keyIdOfHash(createHash("sha256").update(String(key)).digest("hex"));
}

/** The context of one invocation that has to end by `deadlineMs` on the monotonic clock. */
export function makeContext(functionName: string, deadlineMs: number): Context {
  return {
    callbackWaitsForEmptyEventLoop: false,
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${functionName}`,
    memoryLimitInMB: "512",
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    getRemainingTimeInMillis: () => Math.max(0, Math.round(deadlineMs - performance.now())),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}

/** All values of each header, names in lower case. */
function multiHeaders(raw: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = Object.create(null);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    headers[name] ??= [];
    headers[name].push(raw[at + 1] ?? "");
  }
  return headers;
}

function parseQuery(query: string): Record<string, string[]> | null {
  const parameters: Record<string, string[]> = Object.create(null);
  try {
    for (const pair of query.split("&")) {
      if (pair === "") continue;
      const equals = pair.indexOf("=");
      const name = decode(equals < 0 ? pair : pair.slice(0, equals));
      parameters[name] ??= [];
      parameters[name].push(equals < 0 ? "" : decode(pair.slice(equals + 1)));
    }
  } catch {
    return null; // A percent sign that begins no UTF-8 character.
  }
  return parameters;
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function lastOfEach(all: Readonly<Record<string, string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).map(([name, values]) => [name, values.at(-1) ?? ""]),
  );
}
