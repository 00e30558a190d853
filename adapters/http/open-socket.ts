/**
 * The guarded connector. A tenant's call leaves only through here, and four checks stand on the way, each on what is used next:
 *
 *   1. literal   an address in the URL itself, and names that a deployment denies, before anything is asked or dialled
 *   2. answer    every address of the name server's answer, used or not: one that is not public makes the name suspect
 *   3. dialled   the very text that goes to connect(2), which cannot be a name
 *   4. peer      who the kernel says is at the other end, before one byte is written to it
 *
 * Between 2 and 3 nothing is looked up again, so an answer that changes meets a check. TLS begins after 4, with the URL's host
 * name for SNI and certificate, whatever the headers say. It may take up an earlier session of the same tenant and origin
 * (tls-sessions.ts), on a socket that has been checked like any other.
 */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import { withoutLastDots } from "#core/domain/host-name.ts";
import type { Clock } from "#core/ports/clock.ts";
import { EgressRefused } from "./errors.ts";
import type { TlsSession, TlsSessions } from "./tls-sessions.ts";

/** Addresses of one name that are dialled, one after the other. */
const ADDRESSES_TRIED_MAX = 4;
/** While another address is left, one that does not answer gets this long at most. */
const ADDRESS_MS_MAX = 5_000;
const TCP_KEEP_ALIVE_MS = 60_000;
const UNREACHABLE = ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"];

/** Null to go on, else the reason that our log gets. */
export type Check = (address: string, port: number) => string | null;

export interface Checks {
  readonly name: (name: string) => string | null;
  readonly literal: Check;
  readonly answer: Check;
  readonly dialled: Check;
  readonly peer: Check;
}

export interface Target {
  /** As the URL has it, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

/** Milliseconds; null for what did not happen or did not end. */
export interface ConnectTimings {
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
}

export interface ConnectorDeps {
  readonly clock: Clock;
  readonly checks: Checks;
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly dial: (address: string, port: number) => Socket;
  readonly secureContext: SecureContext;
  readonly sessions: TlsSessions;
}

export function dialAddress(address: string, port: number): Socket {
  return connect({
    host: address,
    port,
    autoSelectFamily: false,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
  });
}

/**
 * A socket that is ready for HTTP; `timings` is filled on the way. `key` says whose TLS session it may take up. `signal` ends it at
 * any point and destroys what was opened; it is expected at `endsAtMs`, in the clock's monotonic milliseconds.
 * Throws EgressRefused, LookupFailed, or the error of the socket or of TLS.
 */
export async function openSocket(
  deps: ConnectorDeps,
  key: string,
  target: Target,
  signal: AbortSignal,
  timings: ConnectTimings,
  endsAtMs: number,
): Promise<Socket> {
  const { clock, sessions } = deps;
  signal.throwIfAborted();
  const startMs = clock.monotonicMs();
  const addresses = await addressesOf(deps, target, signal);
  const resolvedMs = clock.monotonicMs();
  if (isIP(target.host) === 0) timings.dnsMs = resolvedMs - startMs;
  const dial = () => dialFirst(deps, addresses, target.port, signal, endsAtMs);
  const socket = await dial();
  const connectedMs = clock.monotonicMs();
  timings.connectMs = connectedMs - resolvedMs;
  if (!target.tls) return socket;
  const session = sessions.find(key);
  const begin = (on: Socket, from: TlsSession | null) =>
    secure(deps, on, key, target.host, from, signal);
  const secured = await begin(socket, session).catch(async (error) => {
    if (session === null) throw error;
    sessions.forget(key);
    if (signal.aborted) throw error;
    // Where a server has tripped over the session, one more connection begins without: nothing has been sent yet.
    return begin(await dial(), null);
  });
  timings.tlsMs = clock.monotonicMs() - connectedMs;
  return secured;
}

async function addressesOf(
  { checks, resolve }: ConnectorDeps,
  { host, port }: Target,
  signal: AbortSignal,
): Promise<readonly string[]> {
  refuseIf("name", checks.name(host));
  if (isIP(host) !== 0) {
    refuseIf(`literal ${host}`, checks.literal(host, port));
    return [host];
  }
  const addresses = await unlessAborted(resolve(host), signal);
  for (const address of addresses) refuseIf(`answer ${address}`, checks.answer(address, port));
  return addresses;
}

/** The first address that answers, in the resolver's order. Each gets a share of what is left of the time, the last one two. */
async function dialFirst(
  deps: ConnectorDeps,
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
  endsAtMs: number,
): Promise<Socket> {
  const tried = addresses.slice(0, ADDRESSES_TRIED_MAX);
  for (const [index, address] of tried.entries()) {
    const left = tried.length - index;
    const isLast = left === 1;
    const shareMs = (endsAtMs - deps.clock.monotonicMs()) / (left + 1);
    const limitMs = isLast ? null : Math.min(ADDRESS_MS_MAX, shareMs);
    try {
      return await dialOne(deps, address, port, signal, limitMs);
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (isLast || signal.aborted || !UNREACHABLE.includes(String(code))) throw error;
    }
  }
  throw new EgressRefused("no address to dial");
}

async function dialOne(
  deps: ConnectorDeps,
  address: string,
  port: number,
  signal: AbortSignal,
  limitMs: number | null,
): Promise<Socket> {
  const { checks, clock, dial } = deps;
  refuseIf(`dialled ${address}`, checks.dialled(address, port));
  const socket = dial(address, port);
  const late = () => socket.destroy(Object.assign(new Error("no answer"), { code: "ETIMEDOUT" }));
  const cancelTimer = limitMs === null ? () => {} : clock.setTimer(limitMs, late);
  try {
    await becomes(socket, "connect", signal);
  } finally {
    cancelTimer();
  }
  const { remoteAddress, remotePort = 0 } = socket;
  // Reset in the turn in which it came: there is nobody to check, and nobody to write to.
  if (remoteAddress === undefined) {
    socket.destroy();
    throw closedBefore();
  }
  const reason = checks.peer(remoteAddress, remotePort);
  if (reason !== null) socket.destroy();
  refuseIf(`peer ${remoteAddress}`, reason);
  return socket;
}

async function secure(
  { clock, secureContext, sessions }: ConnectorDeps,
  socket: Socket,
  key: string,
  host: string,
  session: TlsSession | null,
  signal: AbortSignal,
): Promise<Socket> {
  const name = withoutLastDots(host);
  const startMs = clock.monotonicMs();
  const secured = connectTls({
    socket,
    // Identity is checked for the server name, or for the address when the URL has no name.
    host: name,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    secureContext,
    ...(session === null ? {} : { session: session.bytes }),
    ALPNProtocols: ["http/1.1"],
    // Explicitly, as an environment variable can switch off the default.
    rejectUnauthorized: true,
  });
  // None comes before the certificate and its name have been accepted. With TLS 1.3 a session taken up has others in its turn.
  secured.on("session", (bytes) => {
    const isTakenUp = session !== null && secured.isSessionReused();
    sessions.keep(key, bytes, isTakenUp ? session.verifiedMs : startMs);
  });
  try {
    await becomes(secured, "secureConnect", signal);
    return secured;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function closedBefore(): Error {
  return Object.assign(new Error("closed"), { code: "ECONNRESET" });
}

function refuseIf(what: string, reason: string | null): void {
  if (reason !== null) throw new EgressRefused(`${what}: ${reason}`);
}

/** Resolves at the event. Rejects when the socket fails or closes before it, or at the signal, with the socket destroyed. */
function becomes(socket: Socket, event: "connect" | "secureConnect", signal: AbortSignal) {
  return new Promise<void>((resolve, reject) => {
    // It stays for the socket's life: an error between two owners must not end the process.
    socket.on("error", fail);
    socket.once("close", closed);
    socket.once(event, ready);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    function ready() {
      detach();
      resolve();
    }
    function fail(error: Error) {
      detach();
      socket.destroy();
      reject(error);
    }
    function closed() {
      fail(closedBefore());
    }
    function abort() {
      fail(signal.reason);
    }
    function detach() {
      socket.off("close", closed);
      socket.off(event, ready);
      signal.removeEventListener("abort", abort);
    }
  });
}

/** The promise's end, or the signal's reason when that comes first; the promise then ends for others. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
