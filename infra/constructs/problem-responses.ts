/** What API Gateway answers by itself, as the problem documents that handlers answer (functions/_shared/problem.ts). */
import {
  type ResponseType as GatewayResponseType,
  ResponseType,
  type RestApi,
} from "aws-cdk-lib/aws-apigateway";

interface Refusal {
  readonly type: GatewayResponseType;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const RETRY = { "Retry-After": "'2'" };
const CHALLENGE = {
  "WWW-Authenticate": `'ApiKey realm="at-and-cron", header="x-api-key"'`,
};

function refusal(
  type: GatewayResponseType,
  status: number,
  title: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  return { type, status, title, detail, headers };
}

const T = ResponseType;
const COMMON: readonly Refusal[] = [
  refusal(T.BAD_REQUEST_BODY, 400, "Bad Request", "the body cannot be read"),
  refusal(T.BAD_REQUEST_PARAMETERS, 400, "Bad Request", "the parameters cannot be read"),
  refusal(T.ACCESS_DENIED, 403, "Forbidden", "the caller may not do this"),
  refusal(T.WAF_FILTERED, 403, "Forbidden", "the request was stopped by the firewall"),
  refusal(T.RESOURCE_NOT_FOUND, 404, "Not Found", "there is no such route"),
  refusal(T.REQUEST_TOO_LARGE, 413, "Content Too Large", "the request is too large"),
  refusal(
    T.UNSUPPORTED_MEDIA_TYPE,
    415,
    "Unsupported Media Type",
    "the body must be application/json, in UTF-8",
  ),
  refusal(
    T.THROTTLED,
    429,
    "Too Many Requests",
    "more requests than may be made: try again",
    RETRY,
  ),
  refusal(
    T.QUOTA_EXCEEDED,
    429,
    "Too Many Requests",
    "more requests than may be made: try again",
    RETRY,
  ),
  refusal(
    T.API_CONFIGURATION_ERROR,
    500,
    "Internal Server Error",
    "an error of ours; it has been logged",
  ),
  // Who calls could not be looked up: the database is away. Never 401. Which of the two an authorizer that throws comes to is told differently.
  ...[T.AUTHORIZER_FAILURE, T.AUTHORIZER_CONFIGURATION_ERROR].map((type) =>
    refusal(type, 503, "Service Unavailable", "the database is away or busy: try again", RETRY),
  ),
  refusal(
    T.INTEGRATION_FAILURE,
    503,
    "Service Unavailable",
    "the service is away or busy: try again",
    RETRY,
  ),
  refusal(
    T.INTEGRATION_TIMEOUT,
    504,
    "Gateway Timeout",
    "no answer in time: a change may have been made or not",
  ),
];

const OF_KEYS: readonly Refusal[] = [
  refusal(
    T.UNAUTHORIZED,
    401,
    "Unauthorized",
    "an API key that is known is needed, in the header x-api-key",
    CHALLENGE,
  ),
  // Where methods are not signed, API Gateway says this of a path or a method that does not exist.
  refusal(T.MISSING_AUTHENTICATION_TOKEN, 404, "Not Found", "there is no such route"),
];

const UNSIGNED = "the request is not signed with Signature Version 4, or there is no such route";
const OF_IAM: readonly Refusal[] = [
  refusal(T.UNAUTHORIZED, 401, "Unauthorized", UNSIGNED),
  refusal(T.MISSING_AUTHENTICATION_TOKEN, 403, "Forbidden", UNSIGNED),
  refusal(T.INVALID_SIGNATURE, 403, "Forbidden", "the signature does not fit the request"),
  refusal(T.EXPIRED_TOKEN, 403, "Forbidden", "the caller's credentials have expired"),
];

/** Each has the request's id in `x-request-id`, as answers of handlers do. */
export function addProblemResponses(api: RestApi, callers: "keys" | "iam"): void {
  for (const { type, status, title, detail, headers } of [
    ...COMMON,
    ...(callers === "keys" ? OF_KEYS : OF_IAM),
  ])
    api.addGatewayResponse(type.responseType, {
      type,
      statusCode: String(status),
      responseHeaders: headersWith(headers),
      templates: { "application/json": problem(status, title, detail) },
    });
  // What is left keeps the status that API Gateway gives it.
  for (const [type, title] of [
    [T.DEFAULT_4XX, "Request Refused"],
    [T.DEFAULT_5XX, "Request Not Served"],
  ] as const)
    api.addGatewayResponse(type.responseType, {
      type,
      responseHeaders: headersWith({}),
      templates: {
        "application/json": `{"type":"about:blank","title":"${title}","detail":$context.error.messageString}`,
      },
    });
}

function headersWith(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    "Content-Type": "'application/problem+json'",
    "x-request-id": "context.requestId",
    ...more,
  };
}

/** The same members, in the same order, as a handler writes them. */
function problem(status: number, title: string, detail: string): string {
  return JSON.stringify({ type: "about:blank", title, status, detail });
}
