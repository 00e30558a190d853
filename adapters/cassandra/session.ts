/**
 * The way to the database: every request ends by its deadline whatever the driver does, and what may pass is tried again. A driver
 * client is used until no node can be reached through it, then left for a fresh one: clients recover by themselves too, but slowly,
 * and not from everything.
 */
import type { Client, types } from "cassandra-driver";
import { type CassandraConnection, makeClient } from "./client.ts";
import { type CassandraFault, closedFault, deadlineFault, readFault, translate } from "./errors.ts";

export interface Request {
  /** Idempotent. */
  readonly query: string;
  readonly params: readonly unknown[];
  readonly fetchSize?: number;
  readonly pageState?: string | undefined;
  /** False for DDL, which has nothing to prepare. */
  readonly prepare?: boolean;
  /** On `performance.now()`. */
  readonly deadlineAt: number;
}

interface Link {
  readonly client: Client;
  readonly connected: Promise<void>;
  /** On `performance.now()`: when a request was last answered; of a new link, by when one has to be. */
  answeredAt: number;
}

/** An idle connection that was cut costs a request a retry; a database that is away is told of in less than a second. */
const BACKOFFS_MS = [50, 150, 450];
/** About so long between further tries of one that is busy: a partition of Keyspaces takes 1,000 write units in each second. */
const BUSY_BACKOFF_MS = 450;
const CLOSE_TIMEOUT_MS = 2_000;

export class CassandraSession {
  readonly #connection: CassandraConnection;
  readonly #timeoutMs: number;
  #link: Link | null = null;
  #closed = false;

  /** Connects with the first request. `timeoutMs` bounds what the driver does by itself. */
  constructor(connection: CassandraConnection, timeoutMs: number) {
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Throws StoreUnavailable at the deadline at the latest, StoreRefused when Cassandra says no. A node that says that it is busy is
   * asked for as long as there is time; a database that is away, only a few times.
   */
  async execute(request: Request): Promise<types.ResultSet> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#executeOnce(request);
      } catch (error) {
        const fault = readFault(error);
        if (fault === null) throw error;
        const backoffMs = backoffOf(fault, tries);
        if (backoffMs === null || performance.now() + backoffMs >= request.deadlineAt)
          throw translate(fault);
        await new Promise((wake) => setTimeout(wake, backoffMs));
      }
    }
  }

  /** Ends all connections; may be called again. */
  async close(): Promise<void> {
    this.#closed = true;
    const link = this.#link;
    this.#link = null;
    // A client that is just connecting hears us only after: its sockets end by their own timeouts.
    if (link !== null) await within(end(link), CLOSE_TIMEOUT_MS).catch(() => {});
  }

  async #executeOnce(request: Request): Promise<types.ResultSet> {
    if (this.#closed) throw closedFault();
    const link = this.#connect();
    const askedAt = performance.now();
    try {
      await within(link.connected, leftMs(request));
      const left = leftMs(request);
      const { query, params, prepare = true, fetchSize, pageState } = request;
      const execution = link.client.execute(query, [...params], {
        prepare,
        isIdempotent: true,
        readTimeout: left,
        ...(fetchSize === undefined ? {} : { fetchSize }),
        ...(pageState === undefined ? {} : { pageState }),
      });
      const result = await within(execution, left);
      link.answeredAt = performance.now();
      return result;
    } catch (error) {
      const kind = readFault(error)?.kind;
      // A connection that is half open answers nobody: the driver finds out with the eighth request or so.
      if (kind === "unreachable" || (kind === "late" && link.answeredAt < askedAt))
        this.#leave(link);
      throw error;
    }
  }

  #connect(): Link {
    if (this.#link === null) {
      const client = makeClient(this.#connection, this.#timeoutMs);
      // It stands when every node has answered or taken too long. One that falls silent on the way takes a request's whole time: the
      // next request has the link.
      const answeredAt = performance.now() + this.#timeoutMs;
      const link: Link = { client, connected: client.connect(), answeredAt };
      link.connected.catch(() => this.#leave(link));
      this.#link = link;
    }
    return this.#link;
  }

  #leave(link: Link): void {
    if (this.#link !== link) return;
    this.#link = null;
    // Requests that still wait on it fail with a fault that may pass, and go on with the next client.
    end(link).catch(() => {});
  }
}

/** Null: not worth another try. */
function backoffOf({ kind }: CassandraFault, tries: number): number | null {
  const backoffMs = BACKOFFS_MS[tries] ?? null;
  if (kind === "unreachable") return backoffMs;
  // Apart from each other, or all writers of a partition would come at once again.
  return kind === "busy" ? (backoffMs ?? BUSY_BACKOFF_MS * (0.5 + Math.random())) : null;
}

/** A client can only be shut down when it has connected: before, the driver would go on connecting. */
async function end({ client, connected }: Link): Promise<void> {
  try {
    await connected;
  } catch {
    // Then it has given up what it had by itself.
    return;
  }
  await client.shutdown();
}

function leftMs({ deadlineAt }: Request): number {
  const left = Math.ceil(deadlineAt - performance.now());
  if (left <= 0) throw deadlineFault();
  return left;
}

/** The result of `work`, or a fault after `ms`: what `work` comes to later is nobody's concern. */
function within<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(deadlineFault()), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
