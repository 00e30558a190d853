/**
 * An HTTP endpoint that remembers who called: per Idempotency-Key and X-Attempt, with arrival time. In-process for tests
 * (`openSink`), or as a process of its own for benches (`startSink`), asked over HTTP.
 *
 * What a path answers is in its first part: /ok · /status/500 · /delay/200 (ms) · /hang · /reset · /big/1000000 (bytes) ·
 * /fail-first/2 (500 while X-Attempt ≤ 2) · /retry-after/2 (503 with the header, then 200) · /redirect · /flaky/30 (of a hundred calls so
 * many are answered 500, told by key and attempt). The rest of the path is the caller's own.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SinkAnswer {
  readonly status: number;
  /** When its last byte was given to the operating system. */
  readonly atMs: number;
}

export interface SinkCall {
  /** The job's id; empty when the header is missing. */
  readonly key: string;
  readonly attempt: number;
  readonly arrivedAtMs: number;
  readonly scheduledAt: string;
  readonly method: string;
  readonly path: string;
  readonly bodyBytes: number;
  readonly bodySha256: string;
  /** Headers that begin with `x-p0-`, and the content type. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null until there is one, and for good when the caller went away before. */
  readonly answer: SinkAnswer | null;
}

export interface SinkTotals {
  readonly calls: number;
  /** Different Idempotency-Keys. */
  readonly keys: number;
  /** Calls whose (key, attempt) had come before. */
  readonly duplicates: number;
  readonly withoutKey: number;
}

export interface Sink {
  readonly url: string;
  totals(): SinkTotals;
  /** What came, oldest first; only the newest CALLS_KEPT are kept. */
  calls(): readonly SinkCall[];
  /** Calls that are being answered now. */
  readonly open: number;
  /** Resolves when `met` says so, looked at after each call's arrival; rejects after `deadlineMs`. */
  until(met: () => boolean, deadlineMs: number): Promise<void>;
  /** Answers every call that hangs or waits. */
  letGo(): void;
  close(): Promise<void>;
}

const CALLS_KEPT = 200_000;
const BODY_BYTES_MAX = 1024 * 1024;
const HANG_MS = 120_000;

class Memory {
  readonly #calls: SinkCall[] = [];
  readonly #attempts = new Map<string, Set<number>>();
  #total = 0;
  #duplicates = 0;
  #withoutKey = 0;

  add(call: SinkCall): void {
    this.#total++;
    if (this.#calls.length >= CALLS_KEPT) throw new Error("the sink is full: open a new one");
    this.#calls.push(call);
    if (call.key === "") {
      this.#withoutKey++;
      return;
    }
    const seen = this.#attempts.get(call.key) ?? new Set();
    this.#attempts.set(call.key, seen);
    if (seen.has(call.attempt)) this.#duplicates++;
    seen.add(call.attempt);
  }

  get calls(): readonly SinkCall[] {
    return this.#calls;
  }

  totals(): SinkTotals {
    const keys = this.#attempts.size;
    return { calls: this.#total, keys, duplicates: this.#duplicates, withoutKey: this.#withoutKey };
  }
}

/** Listens on 127.0.0.1; port 0 takes a free one. */
export async function openSink(port = 0): Promise<Sink> {
  const memory = new Memory();
  const waiting = new Set<() => void>();
  const open = new Set<() => void>();
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/_sink/")) {
      answerQuestion(request.url, response, memory, open.size);
      return;
    }
    const arrivedAtMs = Date.now();
    void readBody(request).then((body) => {
      const call: { answer: SinkAnswer | null } & SinkCall = describe(request, body, arrivedAtMs);
      response.once("finish", () => {
        call.answer = { status: response.statusCode, atMs: Date.now() };
      });
      memory.add(call);
      behave(request, response, open);
      for (const look of waiting) look();
    });
  });
  // Longer than any pause of a test: a connection that is closed just as a call is sent is a failed attempt.
  server.keepAliveTimeout = 120_000;
  server.listen(port, "127.0.0.1", 4_096);
  await once(server, "listening");
  const letGo = () => {
    for (const answer of [...open]) answer();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    totals: () => memory.totals(),
    calls: () => memory.calls,
    get open() {
      return open.size;
    },
    until: (met, deadlineMs) => waitUntil(waiting, met, deadlineMs),
    letGo,
    async close() {
      letGo();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function waitUntil(
  waiting: Set<() => void>,
  met: () => boolean,
  deadlineMs: number,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = () => {
    if (met()) resolve();
  };
  const timer = setTimeout(
    () => reject(new Error("the calls waited for did not come")),
    deadlineMs,
  );
  waiting.add(look);
  look();
  return promise.finally(() => {
    clearTimeout(timer);
    waiting.delete(look);
  });
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
    }
  } catch {
    // The caller went away in the middle: what has come counts.
  }
  return Buffer.concat(chunks);
}

function describe(request: IncomingMessage, body: Buffer, arrivedAtMs: number): SinkCall {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (name === "content-type" || name.startsWith("x-p0-")) headers[name] = String(value);
  }
  return {
    key: String(request.headers["idempotency-key"] ?? ""),
    attempt: Number(request.headers["x-attempt"] ?? 0),
    arrivedAtMs,
    scheduledAt: String(request.headers["x-scheduled-at"] ?? ""),
    method: request.method ?? "",
    path: request.url ?? "",
    bodyBytes: body.length,
    bodySha256: body.length === 0 ? "" : createHash("sha256").update(body).digest("hex"),
    headers,
    answer: null,
  };
}

interface Reply {
  readonly value: number;
  readonly key: string;
  readonly attempt: number;
  answer(status: number, headers?: Record<string, string>, body?: string): void;
  /** Answers 200 after `ms`, or when let go. */
  later(ms: number): void;
  reset(): void;
}

const BEHAVIOURS: Readonly<Record<string, (reply: Reply) => void>> = {
  status: ({ value, answer }) => answer(value, {}, `status ${value}\n`),
  delay: ({ value, later }) => later(value),
  hang: ({ later }) => later(HANG_MS),
  reset: ({ reset }) => reset(),
  big: ({ value, answer }) => answer(200, {}, "b".repeat(value)),
  "fail-first": ({ value, attempt, answer }) => answer(attempt <= value ? 500 : 200),
  "retry-after": ({ value, attempt, answer }) =>
    attempt === 1 ? answer(503, { "retry-after": String(value) }) : answer(200),
  redirect: ({ answer }) => answer(302, { location: "/ok/redirected" }),
  flaky: ({ value, key, attempt, answer }) =>
    answer(shareOf(`${key}${attempt}`) < value ? 500 : 200),
};

/** Answers as the path says. What waits is in `open`, so that it can be let go. */
function behave(request: IncomingMessage, response: ServerResponse, open: Set<() => void>): void {
  const [, kind = "", value] = (request.url ?? "").split("/");
  const answer: Reply["answer"] = (status, headers = {}, body = "ok\n") => {
    if (response.writableEnded || response.destroyed) return;
    response.writeHead(status, headers).end(body);
  };
  const later = (ms: number) => {
    const end = () => {
      clearTimeout(timer);
      open.delete(end);
      answer(200);
    };
    const timer = setTimeout(end, ms);
    open.add(end);
    response.once("close", end);
  };
  const reset = () => void request.socket.destroy();
  const attempt = Number(request.headers["x-attempt"] ?? 1);
  const key = String(request.headers["idempotency-key"]);
  const reply = { value: Number(value), key, attempt, answer, later, reset };
  (BEHAVIOURS[kind] ?? (() => answer(200)))(reply);
}

/** 0 to 99, evenly: FNV-1a. */
export function shareOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % 100;
}

/** GET /_sink/totals, GET /_sink/calls?from=N (at most a thousand). */
function answerQuestion(
  target: string,
  response: ServerResponse,
  memory: Memory,
  open: number,
): void {
  const { pathname, searchParams } = new URL(target, "http://sink");
  const from = Number(searchParams.get("from") ?? 0);
  const body =
    pathname === "/_sink/totals"
      ? { ...memory.totals(), open }
      : memory.calls.slice(from, from + 1_000);
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

if (import.meta.main) {
  const sink = await openSink(Number(process.env.SINK_PORT ?? 0));
  console.log(`sink on ${sink.url}`);
  // Whoever started it is gone when its standard input ends.
  process.stdin.once("end", () => process.exit(0)).resume();
}
