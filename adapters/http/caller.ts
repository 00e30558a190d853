/**
 * Calls endpoints through undici: no redirect, no retry, no decompression, no proxy, HTTP/1.1 only. One timer covers DNS,
 * connect, TLS, headers and body; undici's own per-phase timeouts never end a response that trickles.
 *
 * What is beyond the bytes kept is drained up to a bound, so that the connection can be used again, and cut beyond it.
 */
import { Agent, request } from "undici";
import { parseRetryAfter } from "#core/domain/retry-policy.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { Clock } from "#core/ports/clock.ts";
import { callErrorCode } from "./errors.ts";

const DRAIN_BYTES_MAX = 65_536;
const HEADER_BYTES_MAX = 16_384;
const KEEP_ALIVE_MS = 10_000;

export function openCaller(options: { clock: Clock }): Caller {
  const { clock } = options;
  const agent = new Agent({
    allowH2: false,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: 0 },
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
  return {
    call: (call, signal) => callOnce(agent, clock, call, signal),
    close: () => agent.destroy(),
  };
}

async function callOnce(
  agent: Agent,
  clock: Clock,
  call: Call,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const startMs = clock.monotonicMs();
  const deadline = new AbortController();
  let end: "timeout" | "interrupted" | null = null;
  const stop = (why: "timeout" | "interrupted") => {
    end ??= why;
    deadline.abort();
  };
  const cancelTimer = clock.setTimer(call.timeoutMs, () => stop("timeout"));
  const interrupt = () => stop("interrupted");
  signal.addEventListener("abort", interrupt, { once: true });
  if (signal.aborted) interrupt();
  const durationMs = () => Math.round(clock.monotonicMs() - startMs);
  try {
    const response = await request(call.url, {
      dispatcher: agent,
      method: call.method as "GET",
      headers: call.headers,
      body: call.body,
      signal: deadline.signal,
    });
    const responseBody = await readHead(response.body, call.responseBytesMax);
    const retryAfter = response.headers["retry-after"];
    return {
      kind: "answered",
      statusCode: response.statusCode,
      retryAfterMs:
        typeof retryAfter === "string" ? parseRetryAfter(retryAfter, clock.nowMs()) : null,
      responseBody,
      durationMs: durationMs(),
    };
  } catch (error) {
    return { kind: "failed", error: end ?? callErrorCode(error), durationMs: durationMs() };
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", interrupt);
  }
}

/** The first `keepBytes` of a body as text. Ends with the body drained or its connection closed. */
async function readHead(body: AsyncIterable<Uint8Array>, keepBytes: number): Promise<string> {
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  // Leaving the loop early destroys the body and with it the connection.
  for await (const chunk of body) {
    readBytes += chunk.length;
    if (keptBytes < keepBytes) {
      const head = chunk.subarray(0, keepBytes - keptBytes);
      kept.push(head);
      keptBytes += head.length;
    }
    if (readBytes > DRAIN_BYTES_MAX) break;
  }
  return new TextDecoder().decode(Buffer.concat(kept));
}
