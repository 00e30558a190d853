/** Calls the API as a tenant does, reads what comes back, and holds it against the API's documentation. */
import { checkAnswer } from "./check-answer.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field, and a missing one fails the test.
type Json = any;

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when there is none. */
  readonly body: Json;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is, instead of a body as JSON. */
  readonly raw?: string | Buffer;
}

export type ApiClient = (
  method: string,
  path: string,
  body?: unknown,
  options?: CallOptions,
) => Promise<ApiAnswer>;

const ANSWER_MS = 35_000;

/** A client with the API key `key`, null sends none, that holds every answer against what the API promises. */
export function openClient(url: string, key: string | null): ApiClient {
  const call = openPlainClient(url, key);
  return async (method, path, ...rest) => {
    const answer = await call(method, path, ...rest);
    checkAnswer(method, path, answer);
    return answer;
  };
}

/** As `openClient`, of a server that is not the API: a gateway over a test's own handler. */
export function openPlainClient(url: string, key: string | null): ApiClient {
  return async (method, path, body, { headers = {}, raw } = {}) => {
    const sent = raw ?? (body === undefined ? null : JSON.stringify(body));
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { "x-api-key": key }),
        ...(sent === null ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: typeof sent === "string" || sent === null ? sent : new Uint8Array(sent),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== "" ? JSON.parse(text) : undefined,
    };
  };
}
