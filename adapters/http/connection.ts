/**
 * One connection to an endpoint, on a socket that the guard has opened: it never dials, so that no reconnect can lead anywhere.
 * HTTP/1.1, one request at a time.
 */
import type { Socket } from "node:net";
import type { Clock } from "#core/ports/clock.ts";
import { ConnectionGone } from "./errors.ts";
import type { ResponseParser } from "./response-parser.ts";

/** How long an idle connection is used again: as long as its server says it keeps it, within bounds. */
const KEEP_ALIVE_MS_MAX = 10_000;
/** Where the server does not say: many close after 5 s, and a request that meets their end on its way is a failed attempt. */
const KEEP_ALIVE_MS = 4_000;
/** However busy it is: where an endpoint has moved, its name is asked again. */
const AGE_MS_MAX = 300_000;
/** One for all: its stack would cost more than the checks do. */
const ENDED = new ConnectionGone("ended");

interface Exchange {
  readonly parser: ResponseParser;
  readonly sentMs: number;
  readonly resolve: (firstByteMs: number) => void;
  readonly reject: (error: unknown) => void;
  firstByteMs: number;
}

export class Connection {
  readonly key: string;
  readonly #socket: Socket;
  readonly #clock: Clock;
  #exchange: Exchange | null = null;
  #isGone = false;
  /** Until when it may be used again, on the monotonic clock. */
  #usableUntilMs: number;
  readonly #openedMs: number;
  /** Called when the connection has ended. */
  onGone: (connection: Connection) => void = () => {};

  constructor(key: string, socket: Socket, clock: Clock) {
    this.key = key;
    this.#socket = socket;
    this.#clock = clock;
    this.#openedMs = clock.monotonicMs();
    this.#usableUntilMs = this.#openedMs + KEEP_ALIVE_MS;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("end", () => this.#end());
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(ENDED));
  }

  /**
   * Sends a request and reads its response; resolves to the ms until its head had come. Throws what the socket does, ProtocolError,
   * or ConnectionGone; the connection is gone then.
   */
  exchange(request: string | Buffer, parser: ResponseParser): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#isGone) return reject(ENDED);
      const sentMs = this.#clock.monotonicMs();
      this.#exchange = { parser, sentMs, resolve, reject, firstByteMs: 0 };
      this.#socket.write(request, "utf8");
    });
  }

  /** Whether it can carry another request now. */
  isReady(): boolean {
    return (
      !this.#isGone &&
      this.#exchange === null &&
      this.#socket.writableLength === 0 &&
      this.#clock.monotonicMs() < this.#usableUntilMs
    );
  }

  /** Ends it, with whatever is under way. */
  destroy(): void {
    this.#fail(ENDED);
  }

  #take(chunk: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === null) {
      // Nobody has asked for anything.
      this.#fail(ENDED);
      return;
    }
    const { parser } = exchange;
    try {
      const began = parser.hasHead;
      const isComplete = parser.feed(chunk);
      if (!began) exchange.firstByteMs = this.#clock.monotonicMs() - exchange.sentMs;
      if (isComplete) this.#complete(exchange);
    } catch (error) {
      this.#fail(error);
    }
  }

  #end(): void {
    if (this.#exchange?.parser.end()) this.#complete(this.#exchange);
    this.#fail(ENDED);
  }

  #complete({ parser, resolve, firstByteMs }: Exchange): void {
    const keepMs = Math.min(parser.keepAliveMs ?? KEEP_ALIVE_MS, KEEP_ALIVE_MS_MAX);
    this.#exchange = null;
    const idleUntilMs = this.#clock.monotonicMs() + keepMs;
    this.#usableUntilMs = Math.min(idleUntilMs, this.#openedMs + AGE_MS_MAX);
    resolve(firstByteMs);
    if (keepMs === 0) this.#fail(ENDED);
  }

  #fail(error: unknown): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.reject(error);
    this.onGone(this);
  }
}
