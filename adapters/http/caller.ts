/**
 * Calls endpoints: no redirect, no retry, no decompression, no proxy, HTTP/1.1 only, through the guard of open-socket.ts. One
 * timer covers DNS, connect, TLS, headers and body; per-phase timeouts would never end a response that trickles.
 *
 * What is beyond the bytes kept is drained up to a bound, so that the connection can be used again, and cut beyond it.
 */
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { asksToStop, parseRetryAfter } from "#core/domain/retry-policy.ts";
import type { Call, Caller, CallOutcome, CallTimings } from "#core/ports/caller.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";
import { Connection } from "./connection.ts";
import type { EgressPolicy } from "./egress-policy.ts";
import { callErrorCode, EgressRefused, RequestInvalid } from "./errors.ts";
import { IdleConnections } from "./idle-connections.ts";
import {
  type Checks,
  type ConnectorDeps,
  type ConnectTimings,
  dialAddress,
  openSocket,
  type Target,
} from "./open-socket.ts";
import { openRefusalLog, type Refusal } from "./refusal-log.ts";
import { openHostResolver } from "./resolve-host.ts";

const DRAIN_BYTES_MAX = 65_536;
const IDLE_CONNECTIONS_MAX = 2_048;
const HTTP_PORT = 80;
const HTTPS_PORT = 443;

export interface CallerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: EgressPolicy;
  /** Name servers instead of the machine's own, and a hosts file instead of /etc/hosts. */
  readonly nameServers?: readonly string[];
  readonly hostsFile?: string;
  /** Parts of the guard, each its own when absent. */
  readonly checks?: Partial<Checks>;
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  readonly dial?: (address: string, port: number) => Socket;
}

interface Deps {
  readonly clock: Clock;
  readonly connector: ConnectorDeps;
  readonly idle: IdleConnections;
  readonly logRefusal: (refusal: Refusal) => void;
}

export function openCaller(options: CallerOptions): Caller {
  const { clock, policy, nameServers, hostsFile } = options;
  const resolver = openHostResolver({ clock, ipv6: policy.ipv6, nameServers, hostsFile });
  const { verdict } = policy;
  const checks: Checks = {
    name: policy.nameVerdict,
    literal: verdict,
    answer: verdict,
    dialled: verdict,
    peer: verdict,
    ...options.checks,
  };
  const deps: Deps = {
    clock,
    connector: {
      clock,
      checks,
      resolve: options.resolve ?? resolver.resolve,
      dial: options.dial ?? dialAddress,
      secureContext: createSecureContext(),
    },
    idle: new IdleConnections(IDLE_CONNECTIONS_MAX),
    logRefusal: openRefusalLog(clock, options.logger),
  };
  return {
    call: (call, signal) => callOnce(deps, call, signal),
    async close() {
      deps.idle.close();
      resolver.close();
    },
  };
}

async function callOnce(deps: Deps, call: Call, signal: AbortSignal): Promise<CallOutcome> {
  const { clock } = deps;
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
  const phases: Phases = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const took = () => {
    const totalMs = clock.monotonicMs() - startMs;
    return { durationMs: Math.round(totalMs), timings: { ...phases, totalMs } };
  };
  try {
    const answer = await exchange(deps, call, deadline.signal, phases);
    return { kind: "answered", ...answer, ...took() };
  } catch (error) {
    if (error instanceof EgressRefused)
      deps.logRefusal({
        tenantId: call.tenantId,
        origin: new URL(call.url).origin,
        reason: error.message,
      });
    return { kind: "failed", error: end ?? callErrorCode(error), ...took() };
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", interrupt);
  }
}

type Phases = ConnectTimings & { firstByteMs: CallTimings["firstByteMs"] };

/** Request and answer on a warm connection or a new one, which is warm after it or gone. */
async function exchange(deps: Deps, call: Call, signal: AbortSignal, phases: Phases) {
  const { clock, idle } = deps;
  const { target, origin, path } = readTarget(call);
  signal.throwIfAborted();
  const key = `${call.tenantId} ${origin}`;
  const connection =
    idle.take(key) ??
    new Connection(key, origin, await openSocket(deps.connector, target, signal, phases));
  try {
    const sentMs = clock.monotonicMs();
    const { method, headers, body } = call;
    const sent = { method: method as "GET", path, headers, body, signal };
    const response = await connection.request(sent);
    phases.firstByteMs = clock.monotonicMs() - sentMs;
    const { "retry-after": retryAfter, "webhook-stop": stop = [] } = response.headers;
    const responseBody = await readHead(response.body, call.responseBytesMax);
    idle.put(connection);
    return {
      statusCode: response.statusCode,
      retryAfterMs:
        typeof retryAfter === "string" ? parseRetryAfter(retryAfter, clock.nowMs()) : null,
      stop: asksToStop([stop].flat()),
      responseBody,
    };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** Where a call goes: its URL decides alone. The URL parser has made one address of every notation of it. */
function readTarget({ url, headers }: Call): { target: Target; origin: string; path: string } {
  const { protocol, hostname, port, origin, pathname, search } = new URL(url);
  const tls = protocol === "https:";
  if (!tls && protocol !== "http:") throw new RequestInvalid("neither http nor https");
  if (Object.keys(headers).some((name) => name.toLowerCase() === "host"))
    throw new RequestInvalid("the URL alone names the host");
  const host = hostname.replace(/^\[|\]$/g, "");
  const standardPort = tls ? HTTPS_PORT : HTTP_PORT;
  return {
    target: { host, port: port === "" ? standardPort : Number(port), tls },
    origin,
    path: `${pathname}${search}`,
  };
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
