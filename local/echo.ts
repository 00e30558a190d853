import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

// The endpoint that the sample task calls: answers 200 to everything and remembers the last calls. `GET /calls?after=N`
// waits up to 10 s for a call later than the N-th and lists what there is: `{next, calls: [Call, …]}`.

/** `lagMs`: arrival minus `scheduledAt`; both null when the call carries no X-Scheduled-At. */
export type Call = {
  number: number;
  at: string;
  path: string;
  jobId: string | null;
  attempt: number | null;
  scheduledAt: string | null;
  lagMs: number | null;
};

const KEPT_CALLS = 200;
const WAIT_MS = 10_000;
const calls: Call[] = [];
let total = 0;
const waiting = new Set<() => void>();

function receive(request: IncomingMessage, response: ServerResponse): void {
  const nowMs = Date.now();
  request.resume();
  const url = new URL(request.url ?? "/", "http://localhost");
  if (request.method === "GET" && url.pathname === "/calls") {
    list(Number(url.searchParams.get("after") ?? 0), response);
    return;
  }
  const scheduledAt = header(request, "x-scheduled-at");
  const scheduledAtMs = Date.parse(scheduledAt ?? "");
  total += 1;
  calls.push({
    number: total,
    at: new Date(nowMs).toISOString(),
    path: url.pathname,
    jobId: header(request, "idempotency-key"),
    attempt: Number(header(request, "x-attempt")) || null,
    scheduledAt,
    lagMs: Number.isNaN(scheduledAtMs) ? null : nowMs - scheduledAtMs,
  });
  if (calls.length > KEPT_CALLS) calls.shift();
  answer(response, { ok: true, number: total });
  for (const wake of waiting) wake();
}

function list(after: number, response: ServerResponse): void {
  const reply = () => {
    clearTimeout(timer);
    waiting.delete(reply);
    // An echo that was started again counts from 1: what the caller has seen is no longer known here.
    const seen = after <= total ? after : 0;
    answer(response, { next: total, calls: calls.filter((call) => call.number > seen) });
  };
  const timer = setTimeout(reply, WAIT_MS);
  waiting.add(reply);
  if (total !== after) reply();
}

function header(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === "string" ? value.slice(0, 200) : null;
}

function answer(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

const port = Number(process.env.ECHO_PORT);
const server = createServer(receive);
server.listen(port, "127.0.0.1", () => console.log(`echo on http://127.0.0.1:${port}`));
process.once("SIGTERM", () => {
  for (const wake of waiting) wake();
  server.close();
  server.closeIdleConnections();
});
