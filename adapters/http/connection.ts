/**
 * One connection to an endpoint, spoken to by one undici Client. undici never dials: it gets a socket that the guard has
 * opened, once, so that no reconnect of its own can lead anywhere. HTTP/1.1, one request at a time.
 */
import type { Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import { ConnectionGone } from "./errors.ts";

const HEADER_BYTES_MAX = 16_384;
const KEEP_ALIVE_MS = 10_000;
/** One for all: undici would make one per connection, and its stack costs more than the checks do. */
const ENDED = new ConnectionGone("ended");

export type SentRequest = Pick<
  Dispatcher.RequestOptions,
  "method" | "path" | "headers" | "body" | "signal"
>;

export class Connection {
  readonly key: string;
  readonly #client: Client;
  /** Called when the connection has ended. */
  onGone: () => void = () => {};

  constructor(key: string, origin: string, socket: Socket) {
    this.key = key;
    let unused: Socket | null = socket;
    this.#client = new Client(origin, {
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      connect(_options, callback) {
        const given = unused;
        unused = null;
        // Not at once: undici asks in the middle of its own bookkeeping.
        queueMicrotask(() =>
          given === null
            ? callback(new ConnectionGone("connections are dialled once"), null)
            : callback(null, given),
        );
      },
    });
    this.#client.on("disconnect", () => {
      this.onGone();
      this.destroy();
    });
  }

  request(sent: SentRequest): Promise<Dispatcher.ResponseData> {
    return this.#client.request(sent);
  }

  /** Whether it can carry another request now. */
  isReady(): boolean {
    if (this.#client.closed || this.#client.destroyed) return false;
    const { connected, size } = this.#client.stats;
    return connected && size === 0;
  }

  /** Ends it, with whatever is under way. */
  destroy(): void {
    if (!this.#client.destroyed) void this.#client.destroy(ENDED);
  }
}
