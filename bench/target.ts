/**
 * The endpoint of the load benches, as a process of its own: cheap, so that it measures its callers and not itself. It notes of
 * every call when it came, when it was scheduled, its priority and its group, in columns of numbers.
 *
 * A path is /<kind>/<value>/<priority>/<group>: /ok/0 · /delay/20 (ms) · /status/503 · /flaky/30 (of a hundred calls so many are
 * answered 500, told by the job's id and the attempt, so that a run can be repeated) · /hang/0.
 *
 * /_target/arrived/<group>/<n>/<ms> is answered true when so many calls of a group have come, false after so long: asking for their
 * count a hundred times a second takes time from what is measured. /_target/most is the greatest number of calls at once,
 * /_target/resumed how many connections took up a TLS session.
 *
 * `node bench/target.ts DIR N` listens over TLS too, with the certificate in DIR for `localhost`, on N ports: an origin each.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { readCertificate } from "#test/egress/certificates.ts";
import { shareOf } from "#test/support/sink.ts";

/** One entry a call in each, oldest first. */
export interface TargetCalls {
  readonly arrivedAtMs: number[];
  readonly scheduledAtMs: number[];
  readonly attempt: number[];
  readonly priority: number[];
  readonly group: number[];
}

const CALLS_MAX = 1_000_000;

interface Waiting {
  readonly group: number;
  readonly count: number;
  readonly arrived: () => void;
}

class Calls implements TargetCalls {
  readonly arrivedAtMs: number[] = [];
  readonly scheduledAtMs: number[] = [];
  readonly attempt: number[] = [];
  readonly priority: number[] = [];
  readonly group: number[] = [];

  readonly #counts = new Map<number, number>();
  readonly #waiting = new Set<Waiting>();

  /** How many came: all, or those of one group. */
  count(group: string | undefined): number {
    return group === undefined ? this.group.length : (this.#counts.get(Number(group)) ?? 0);
  }

  add(headers: IncomingMessage["headers"], priority: number, group: number): void {
    if (this.arrivedAtMs.length >= CALLS_MAX) throw new Error("the target is full: reset it");
    this.arrivedAtMs.push(Date.now());
    this.scheduledAtMs.push(Date.parse(String(headers["x-scheduled-at"])));
    this.attempt.push(Number(headers["x-attempt"]));
    this.priority.push(priority);
    this.group.push(group);
    this.#counts.set(group, (this.#counts.get(group) ?? 0) + 1);
    if (this.#waiting.size > 0) this.#tell();
  }

  /** Answers true as soon as so many calls of the group have come, false when they have not within `waitMs`. */
  wait(group: number, count: number, waitMs: number, answer: (arrived: boolean) => void): void {
    const giveUp = () => {
      this.#waiting.delete(waiting);
      answer(false);
    };
    const timer = setTimeout(giveUp, waitMs);
    const arrived = () => {
      clearTimeout(timer);
      answer(true);
    };
    const waiting: Waiting = { group, count, arrived };
    this.#waiting.add(waiting);
    this.#tell();
  }

  #tell(): void {
    for (const waiting of this.#waiting) {
      if ((this.#counts.get(waiting.group) ?? 0) < waiting.count) continue;
      this.#waiting.delete(waiting);
      waiting.arrived();
    }
  }
}

/** Calls that have come and are not answered: now, and the greatest number since the last reset. */
class Open {
  now = 0;
  most = 0;

  add(): void {
    this.now++;
    if (this.now > this.most) this.most = this.now;
  }
}

/** Listens on a free port of 127.0.0.1, and over TLS on as many as are asked for; answers until the process ends. */
async function serve(certificates: string, tlsPorts: number): Promise<number> {
  let calls = new Calls();
  let connections = 0;
  let resumed = 0;
  const open = new Open();
  const origins: string[] = [];
  const tell = (what: string, [group, count, waitMs]: readonly string[], end: Answer) => {
    if (what === "arrived") return calls.wait(Number(group), Number(count), Number(waitMs), end);
    if (what === "reset") {
      [calls, connections, resumed] = [new Calls(), 0, 0];
      open.most = open.now;
    }
    const { most } = open;
    const answers: Record<string, unknown> = { calls, connections, resumed, origins, most };
    end(answers[what] ?? calls.count(group));
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const [, kind = "", value = "", ...rest] = (request.url ?? "").split("/");
    if (kind === "_target")
      return tell(value, rest, (content) => response.end(JSON.stringify(content)));
    const [priority, group] = rest;
    calls.add(request.headers, Number(priority), Number(group));
    open.add();
    const end = (status: number) => {
      open.now--;
      response.writeHead(status).end("ok");
    };
    if (kind === "hang") response.once("close", () => open.now--);
    request.once("end", () => answer(kind, Number(value), request, end)).resume();
  };
  const listen = async (server: Server) => {
    server.on("connection", () => connections++);
    server.keepAliveTimeout = 120_000;
    server.listen(0, "127.0.0.1", 4_096);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  for (let i = 0; i < tlsPorts; i++) {
    const server = createTlsServer(readCertificate(certificates), listener);
    server.on("secureConnection", (socket) => {
      if (socket.isSessionReused()) resumed++;
    });
    origins.push(`https://localhost:${await listen(server)}`);
  }
  return listen(createServer(listener));
}

type Answer = (content: unknown) => void;

/** Answers as the path says; a call that hangs is never answered. */
function answer(
  kind: string,
  value: number,
  { headers }: IncomingMessage,
  end: (status: number) => void,
): void {
  const failed = () => shareOf(`${headers["idempotency-key"]}${headers["x-attempt"]}`) < value;
  if (kind === "delay" && value > 0) setTimeout(end, value, 200);
  else if (kind === "status") end(value);
  else if (kind === "flaky") end(failed() ? 500 : 200);
  else if (kind !== "hang") end(200);
}

if (import.meta.main) {
  const [certificates = "", tlsPorts = "0"] = process.argv.slice(2);
  console.log(`target on http://127.0.0.1:${await serve(certificates, Number(tlsPorts))}`);
  // Whoever started it is gone when its standard input ends.
  process.stdin.once("end", () => process.exit(0)).resume();
}
