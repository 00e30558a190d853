/**
 * Calls endpoints: no redirect, no retry, no decompression, no proxy, HTTP/1.1 only, through the guard of open-socket.ts. One
 * timer covers DNS, connect, TLS, headers and body; per-phase timeouts would never end a response that trickles.
 */
import type { Socket } from "node:net";
import { createSecureContext, DEFAULT_CIPHERS } from "node:tls";
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { IDLE_CONNECTIONS_MAX, TLS_SESSIONS_MAX } from "#core/domain/limits.ts";
import { asksToStop, parseRetryAfter } from "#core/domain/retry-policy.ts";
import type { Call, Caller, CallOutcome, CallTimings } from "#core/ports/caller.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";
import { CallEnding, Interrupts } from "./call-ending.ts";
import { Connection } from "./connection.ts";
import { Connections } from "./connections.ts";
import type { EgressPolicy } from "./egress-policy.ts";
import { callErrorCode, EgressRefused } from "./errors.ts";
import {
  type Checks,
  type ConnectorDeps,
  type ConnectTimings,
  dialAddress,
  openSocket,
  type Target,
} from "./open-socket.ts";
import { openRefusalLog, type Refusal } from "./refusal-log.ts";
import { requestText } from "./request-text.ts";
import { openHostResolver } from "./resolve-host.ts";
import { ResponseParser } from "./response-parser.ts";
import { isHttp, Targets } from "./targets.ts";
import { TlsSessions } from "./tls-sessions.ts";

/** Connections that are opened ahead at the same time, and how long that may take. */
const PREPARING_MAX = 256;
const PREPARING_MS_MAX = 5_000;
/** Without those whose group the server picks: one of 10,000 bits takes most of a second of our one thread, and nothing of its own. */
const CIPHERS = `${DEFAULT_CIPHERS}:!DHE`;

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
  readonly connections: Connections;
  readonly interrupts: Interrupts;
  readonly targets: Targets;
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
      secureContext: createSecureContext({ ciphers: CIPHERS }),
      sessions: new TlsSessions(TLS_SESSIONS_MAX, clock),
    },
    connections: new Connections(IDLE_CONNECTIONS_MAX, clock),
    interrupts: new Interrupts(),
    targets: new Targets(),
    logRefusal: openRefusalLog(clock, options.logger),
  };
  let preparing = 0;
  return {
    call: (call, signal) => callOnce(deps, call, signal),
    prepare: (tenantId, url) => {
      if (preparing >= PREPARING_MAX) return;
      preparing++;
      void prepare(deps, tenantId, url).finally(() => preparing--);
    },
    async close() {
      deps.connections.close();
      resolver.close();
    },
  };
}

async function callOnce(deps: Deps, call: Call, signal: AbortSignal): Promise<CallOutcome> {
  const { clock } = deps;
  const startMs = clock.monotonicMs();
  const ending = new CallEnding(startMs + call.timeoutMs);
  // Where the process has stood still, the timer is due before any socket is looked at, and the answer may lie there in time: the
  // sockets are read once before the call ends.
  let reading: NodeJS.Immediate | undefined;
  const cancelTimer = clock.setTimer(call.timeoutMs, () => {
    reading = setImmediate(() => ending.end("timeout"));
  });
  const forget = deps.interrupts.add(signal, ending);
  const phases: Phases = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const took = () => {
    const totalMs = clock.monotonicMs() - startMs;
    return { durationMs: Math.round(totalMs), timings: { ...phases, totalMs } };
  };
  try {
    const answer = await exchange(deps, call, ending, phases);
    return { kind: "answered", ...answer, ...took() };
  } catch (error) {
    if (error instanceof EgressRefused)
      deps.logRefusal({
        tenantId: call.tenantId,
        origin: new URL(call.url).origin,
        reason: error.message,
      });
    return { kind: "failed", error: ending.why ?? callErrorCode(error), ...took() };
  } finally {
    cancelTimer();
    clearImmediate(reading);
    forget();
  }
}

type Phases = ConnectTimings & { firstByteMs: CallTimings["firstByteMs"] };

/** Request and answer on a warm connection or a new one, which is warm after it or gone. */
async function exchange(deps: Deps, call: Call, ending: CallEnding, phases: Phases) {
  const { clock, connections, connector, targets } = deps;
  const { target, origin, host, path } = targets.read(call.url);
  const request = requestText(call, host, path);
  ending.throwIfEnded();
  const key = `${call.tenantId} ${origin}`;
  const taken = connections.take(key, call.opensAtOnce !== true);
  let connection = taken instanceof Promise ? await taken : taken;
  try {
    connection ??= await connect(deps, key, target, ending, phases);
    const answer = await sendOn(connection, deps, call, ending, request);
    phases.firstByteMs = answer.firstByteMs;
    connections.put(connection, answer.tookMs);
    return readAnswer(answer.parser, clock);
  } catch (error) {
    connection?.destroy();
    connections.drop(key);
    // It may be of the session that the connection took up: the next one begins with a whole handshake.
    connector.sessions.forget(key);
    throw error;
  }
}

async function sendOn(
  connection: Connection,
  { clock }: Deps,
  { method, responseBytesMax }: Call,
  ending: CallEnding,
  request: string | Buffer,
) {
  ending.throwIfEnded();
  ending.onEnd = () => connection.destroy();
  const startMs = clock.monotonicMs();
  const parser = new ResponseParser(method, responseBytesMax);
  const firstByteMs = await connection.exchange(request, parser);
  return { parser, firstByteMs, tookMs: clock.monotonicMs() - startMs };
}

function readAnswer({ statusCode, retryAfter, stop, body }: ResponseParser, clock: Clock) {
  return {
    statusCode,
    retryAfterMs: retryAfter === null ? null : parseRetryAfter(retryAfter, clock.nowMs()),
    stop: asksToStop(stop),
    responseBody: body,
  };
}

/** Opens a connection ahead. What fails here fails again when it is called, and is told then. */
async function prepare(deps: Deps, tenantId: TenantId, url: string): Promise<void> {
  const { clock, connections, targets } = deps;
  if (!isHttp(url)) return;
  const { target, origin } = targets.read(url);
  const key = `${tenantId} ${origin}`;
  if (!connections.lacks(key)) return;
  assert(connections.take(key) === null, "where none is in use, none is waited for");
  const ending = new CallEnding(clock.monotonicMs() + PREPARING_MS_MAX);
  const cancelTimer = clock.setTimer(PREPARING_MS_MAX, () => ending.end("timeout"));
  const phases: Phases = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  try {
    connections.put(await connect(deps, key, target, ending, phases), 0);
  } catch {
    connections.drop(key);
  } finally {
    cancelTimer();
  }
}

async function connect(
  { connector, clock }: Deps,
  key: string,
  target: Target,
  ending: CallEnding,
  phases: Phases,
): Promise<Connection> {
  ending.throwIfEnded();
  const abort = new AbortController();
  ending.onEnd = () => abort.abort();
  const socket = await openSocket(connector, key, target, abort.signal, phases, ending.endsAtMs);
  return new Connection(key, socket, clock);
}
