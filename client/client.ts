/** The client: one method for each operation of the API, over fetch. README.md shows how it is used. */
import type { Answer } from "./answer.ts";
import { type Api, OPERATIONS, type Problem } from "./generated/api.ts";

export interface ClientOptions {
  /** Where the service is, such as `https://api.example.com`; without `/v1`. */
  readonly url: string;
  /** Null sends none: for operations that need none, or with a `fetch` that signs requests (SigV4). */
  readonly apiKey: string | null;
  /** For one call, the body of its answer included. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

const TIMEOUT_MS_DEFAULT = 30_000;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** An answer that is an error. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly status: number;
  /** The problem document; null when the answer was none, such as a proxy's. */
  readonly problem: Problem | null;
  readonly headers: Headers;

  constructor(
    status: number,
    problem: Problem | null,
    headers: Headers,
    message = problem?.detail ?? "not an answer of the API",
  ) {
    super(`${status}: ${message}`);
    this.status = status;
    this.problem = problem;
    this.headers = headers;
  }

  /** What `Retry-After` says; null when it says nothing. */
  get retryAfterSeconds(): number | null {
    const text = this.headers.get("retry-after");
    return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
  }
}

/** Path and query parameters, headers in camel case, and `body`, side by side. */
type Args = Readonly<Record<string, unknown>>;

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/** Opens no connection before it is used. Each call rejects with ApiProblem for an error, and as fetch does when there is no answer. */
export function openClient(options: ClientOptions): Api {
  const verbs = Object.entries(OPERATIONS).map(
    ([name, entry]) => [name, (args: Args = {}) => call(options, entry, args)] as const,
  );
  return Object.fromEntries(verbs) as unknown as Api;
}

async function call(options: ClientOptions, entry: Entry, args: Args): Promise<Answer<unknown>> {
  const { url, apiKey, timeoutMs = TIMEOUT_MS_DEFAULT } = options;
  const ask = options.fetch ?? fetch;
  const headers = new Headers({ accept: "application/json, application/problem+json, text/html" });
  if (apiKey !== null) headers.set("x-api-key", apiKey);
  for (const [name, header] of Object.entries(entry.headers)) {
    if (args[name] !== undefined) headers.set(header, String(args[name]));
  }
  const { body: sent } = args;
  if (sent !== undefined) headers.set("content-type", "application/json");
  const response = await ask(url.replace(/\/+$/, "") + targetOf(entry, args), {
    method: entry.method,
    headers,
    body: sent === undefined ? null : JSON.stringify(sent),
    signal: AbortSignal.timeout(timeoutMs),
    redirect: "manual",
  });
  if (isRedirect(response)) throw redirected(url, response);
  const body = await readBody(response);
  if (response.ok) return { status: response.status, headers: response.headers, body };
  throw new ApiProblem(response.status, problemOf(body), response.headers);
}

function isRedirect({ type, status, redirected }: Response): boolean {
  return type === "opaqueredirect" || redirected || REDIRECTS.includes(status);
}

/** Followed, it would take the key to another origin, and make a GET of a POST. */
function redirected(url: string, { status, headers }: Response): ApiProblem {
  const location = headers.get("location");
  const message = `${url} redirects${location === null ? "" : ` to ${location}`}: set url to where the service itself answers`;
  return new ApiProblem(status, null, headers, message);
}

function targetOf({ path, query }: Entry, args: Args): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(args[name])),
  );
  const search = new URLSearchParams();
  for (const name of query) if (args[name] !== undefined) search.set(name, String(args[name]));
  return search.size === 0 ? filled : `${filled}?${search}`;
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return null;
  return /\bjson\b/.test(response.headers.get("content-type") ?? "") ? parse(text) : text;
}

/** Text that only says it were JSON stays text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function problemOf(body: unknown): Problem | null {
  const isProblem = typeof body === "object" && body !== null && "detail" in body;
  return isProblem ? (body as Problem) : null;
}

/** A list without what is archived, while history is away: jobs that are not in it may be there all the same. */
export class HistoryAway extends Error {
  override readonly name = "HistoryAway";
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
  readonly historyAvailable?: false;
}

/**
 * All items of a list, page by page: `for await (const task of eachItem(client.listTasks, { tag: "nightly" }))`. Throws HistoryAway after
 * the items of a page that lacks archived ones: a list that ended there would look whole.
 */
export async function* eachItem<A, T>(
  list: (args: A) => Promise<Answer<Page<T>>>,
  args: NoInfer<NonNullable<A>>,
): AsyncGenerator<T, void> {
  let cursor: string | null = null;
  do {
    const asked = cursor === null ? args : { ...args, cursor };
    const { body }: Answer<Page<T>> = await list(asked as A);
    yield* body.items;
    if (body.historyAvailable === false)
      throw new HistoryAway("history is away: archived items are missing; list again later");
    cursor = body.nextCursor;
  } while (cursor !== null);
}
