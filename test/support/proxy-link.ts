/** One connection through the proxy: a client, its server, and what passes between them. */
import { connect, type Socket } from "node:net";
import type { DelayLine } from "./delay-line.ts";
import { type Packet, PacketReader } from "./mysql-packets.ts";
import type { Faults } from "./proxy-faults.ts";

/** What the links of one proxy share. */
export interface LinkHost {
  readonly target: { readonly host: string; readonly port: number };
  readonly toServer: DelayLine;
  readonly toClient: DelayLine;
  /** Null: bytes are passed on as they come. */
  readonly faults: Faults | null;
  oneWayMs: number;
  /** What does not pass. */
  paused: "nothing" | "answers" | "both";
}

/** Statements of one transaction that are remembered. */
const EARLIER_MAX = 20;
const BEGINS_TRANSACTION = /^\s*(BEGIN|START TRANSACTION)\b/i;
/** What a link says to its server by itself. */
const READ_ONLY = "SET SESSION TRANSACTION READ ONLY";
const ENDS_TRANSACTION = /^\s*(COMMIT|ROLLBACK)\b/i;

export class ProxyLink {
  readonly #host: LinkHost;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #reader = new PacketReader();
  /** What the open transaction has sent; null outside of one. */
  #earlier: string[] | null = null;
  /** The server's next answer is not passed on. */
  #answerLost = false;
  #held = false;
  /** `wanted`: before the next statement; `asked`: the server's next answer is to us, and `#kept` waits for it. */
  #readOnly: "no" | "wanted" | "asked" = "no";
  #kept: Buffer[] = [];
  #over = false;
  #silent = false;
  readonly #onOver: (link: ProxyLink) => void;

  constructor(client: Socket, host: LinkHost, onOver: (link: ProxyLink) => void) {
    this.#host = host;
    this.#client = client;
    this.#onOver = onOver;
    this.#server = connect({ ...host.target, noDelay: true });
    for (const side of [client, this.#server]) {
      side.on("error", () => this.reset());
      side.on("close", () => this.#end());
    }
    client.on("data", (chunk) => this.#fromClient(chunk));
    client.on("drain", () => this.#resume(this.#server));
    this.#server.on("data", (chunk) => this.#fromServer(chunk));
    this.#server.on("drain", () => this.#resume(client));
    if (host.paused !== "nothing") this.pauseOrResume();
  }

  /** Follows the proxy's state. */
  pauseOrResume(): void {
    for (const side of [this.#client, this.#server]) {
      if (this.#stands(side)) side.pause();
      else side.resume();
    }
  }

  /** Half open from now on: nothing passes any more, and neither side hears of it. */
  silence(): void {
    this.#silent = true;
    this.pauseOrResume();
  }

  #stands(side: Socket): boolean {
    if (this.#silent) return true;
    const { paused } = this.#host;
    return paused === "both" || (paused === "answers" && side === this.#server);
  }

  makeReadOnly(): void {
    if (this.#readOnly === "no") this.#readOnly = "wanted";
  }

  /** Resets both sides at once. */
  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  /** One side is gone: what is on its way still arrives, then the other side ends too. */
  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onOver(this);
    const { toServer, toClient, oneWayMs } = this.#host;
    toServer.put(oneWayMs, () => this.#server.destroy());
    toClient.put(oneWayMs, () => this.#client.destroy());
  }

  #fromClient(chunk: Buffer): void {
    if (this.#host.faults === null) {
      this.#pass(this.#host.toServer, this.#client, this.#server, chunk);
      return;
    }
    for (const packet of this.#reader.push(chunk)) {
      if (this.#held) return;
      this.#passStatement(packet);
    }
  }

  #passStatement({ bytes, statement }: Packet): void {
    const fault = statement === null ? null : this.#host.faults?.meet(statement, this.#earlier);
    if (statement !== null) this.#remember(statement);
    this.#held = fault === "hold" || fault === "cut-before";
    if (fault === "cut-before") this.reset();
    if (this.#held) return;
    this.#answerLost = fault === "cut-answer";
    if (statement !== null && this.#readOnly === "wanted") {
      this.#readOnly = "asked";
      this.#server.write(queryPacket(READ_ONLY, bytes));
    }
    if (this.#readOnly === "asked") this.#kept.push(bytes);
    else this.#pass(this.#host.toServer, this.#client, this.#server, bytes);
  }

  #remember(statement: string): void {
    if (BEGINS_TRANSACTION.test(statement)) this.#earlier = [];
    else if (ENDS_TRANSACTION.test(statement)) this.#earlier = null;
    else if (this.#earlier !== null && this.#earlier.length < EARLIER_MAX)
      this.#earlier.push(statement);
  }

  #fromServer(chunk: Buffer): void {
    // The answer has come, so the server has done it.
    if (this.#readOnly === "asked") {
      this.#readOnly = "no";
      for (const bytes of this.#kept.splice(0))
        this.#pass(this.#host.toServer, this.#client, this.#server, bytes);
    } else if (this.#answerLost) this.reset();
    else this.#pass(this.#host.toClient, this.#server, this.#client, chunk);
  }

  #pass(line: DelayLine, from: Socket, to: Socket, chunk: Buffer): void {
    line.put(this.#host.oneWayMs, () => {
      if (!to.destroyed && !to.write(chunk)) from.pause();
    });
  }

  #resume(from: Socket): void {
    if (!this.#stands(from)) from.resume();
  }
}

/** A statement as the client that has sent `like` sends it: length, sequence number 0, COM_QUERY, query attributes if it has those. */
function queryPacket(statement: string, like: Buffer): Buffer {
  const attributes = (like[5] ?? 255) <= 1 ? "\x00\x01" : "";
  const body = Buffer.from(`\x03${attributes}${statement}`, "latin1");
  return Buffer.concat([Buffer.from([body.length, 0, 0, 0]), body]);
}
