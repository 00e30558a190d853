/**
 * Reads one HTTP/1.1 response (RFC 9112) from the bytes of a connection, as they come. Strict: whatever could be read in two ways is
 * refused, or costs the connection where servers are known to send it, since a wrong idea of where a response ends would hand the
 * rest of it to the next call. Of the body so many bytes are kept; it is read on up to a bound, so that the connection can be used
 * again, and cut beyond it. Into what pieces it comes is the endpoint's choice too, one for each TLS record: the time that a response
 * takes grows with its bytes and pieces, and both are bounded.
 */
import { ProtocolError } from "./errors.ts";

const HEAD_BYTES_MAX = 16_384;
const CHUNK_LINE_BYTES_MAX = 1_024;
const DRAIN_BYTES_MAX = 65_536;
/** What comes at once, and each line or chunk in it; behind them a body is cut. */
const PIECES_MAX = 4_096;
/** A server that says how long it keeps a connection is believed, but for this much. */
const KEEP_ALIVE_MARGIN_MS = 2_000;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const CHUNK_LINE = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const LENGTH = /^\d{1,15}$/;
const CHUNKED_AT_LAST = /(?:^|,)[\t ]*chunked$/;
const CR = 0x0d;
const BEGINNING = "HTTP/1.";

type State = "head" | "length" | "until-close" | "chunk-size" | "chunk" | "chunk-end" | "trailer";

export class ResponseParser {
  readonly #hasBody: boolean;
  readonly #keepBytes: number;
  #state: State | "done" = "head";
  /** Bytes of a line or head that is not complete. */
  #pending: Buffer | null = null;
  /** Where they are put together when more come, with room behind them. */
  #gathered: Buffer | null = null;
  /** How many of them do not hold its end. */
  #searched = 0;
  #hasStatusLine = false;
  #pieces = 0;
  #headBytes = 0;
  #left = 0;
  #bodyBytes = 0;
  #kept: Buffer[] = [];
  #keptBytes = 0;

  statusCode = 0;
  retryAfter: string | null = null;
  readonly stop: string[] = [];
  /** How long the server keeps the connection: 0, no longer; null, it does not say. */
  keepAliveMs: number | null = null;

  constructor(method: string, keepBytes: number) {
    this.#hasBody = method !== "HEAD";
    this.#keepBytes = keepBytes;
  }

  /** Status and headers have come. */
  get hasHead(): boolean {
    return this.#state !== "head";
  }

  /** The first bytes of the body as text, invalid UTF-8 replaced. */
  get body(): string {
    const [first] = this.#kept;
    if (first === undefined) return "";
    return (this.#kept.length === 1 ? first : Buffer.concat(this.#kept)).toString("utf8");
  }

  /** Takes what has come; true when the response is complete, or read as far as it is. Throws ProtocolError. */
  feed(chunk: Buffer): boolean {
    let rest: Buffer | null = chunk;
    if (this.#pending !== null) {
      rest = this.#gather(this.#pending, chunk);
      this.#pending = null;
    }
    while (rest !== null && this.#state !== "done") {
      if (rest.length === 0) return false;
      if (++this.#pieces > PIECES_MAX) this.#cut();
      else rest = this.#step(rest);
    }
    // What nobody has asked for: the connection is not to be trusted with another call.
    if (rest !== null && rest.length > 0) this.keepAliveMs = 0;
    return this.#state === "done";
  }

  /** The other side has ended; true when that completes the response. */
  end(): boolean {
    return this.#state === "until-close";
  }

  #gather(pending: Buffer, chunk: Buffer): Buffer {
    const length = pending.length + chunk.length;
    if (this.#gathered === null || this.#gathered.length < length) {
      const roomy = Buffer.allocUnsafe(2 * length);
      pending.copy(roomy);
      this.#gathered = roomy;
    }
    chunk.copy(this.#gathered, pending.length);
    return this.#gathered.subarray(0, length);
  }

  /** Where `mark` ends the line or head that `bytes` begin with, or -1. It is looked for where it has not been before. */
  #endOf(bytes: Buffer, mark: string): number {
    const end = bytes.indexOf(mark, Math.max(0, this.#searched - mark.length + 1));
    this.#searched = end < 0 ? bytes.length : 0;
    // What follows the end is kept: nothing is to be written over it.
    if (end >= 0) this.#gathered = null;
    return end;
  }

  /** Reads one piece; what is left, or null when more has to come first. */
  #step(bytes: Buffer): Buffer | null {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes);
      case "length":
      case "until-close":
      case "chunk":
        return this.#readBody(bytes);
      default:
        return this.#readLine(bytes);
    }
  }

  #readHead(bytes: Buffer): Buffer | null {
    const searched = this.#searched;
    const end = this.#endOf(bytes, "\r\n\r\n");
    this.#checkHeadBytes(end < 0 ? bytes.length : end);
    if (end < 0) {
      this.#hasStatusLine ||= endsStatusLine(bytes, searched);
      return this.#wait(bytes);
    }
    const lines = bytes.toString("latin1", 0, end).split("\r\n");
    const rest = bytes.subarray(end + 4);
    const [, minor, status] = STATUS_LINE.exec(lines[0] ?? "") ?? [];
    if (status === undefined) throw new ProtocolError("not a status line");
    this.statusCode = Number(status);
    if (this.statusCode === 101) throw new ProtocolError("another protocol");
    const framing = this.#readHeaders(lines);
    if (this.statusCode < 200) {
      this.#headBytes += end + 4;
      this.#hasStatusLine = false;
      this.retryAfter = null;
      this.stop.length = 0;
      return rest;
    }
    if (minor === "0") this.keepAliveMs = 0;
    this.#begin(framing);
    return rest;
  }

  #readHeaders(lines: readonly string[]): Framing {
    const framing: Framing = { length: null, codings: null };
    for (let i = 1; i < lines.length; i++) {
      const [, name, text] = HEADER_LINE.exec(lines[i] ?? "") ?? [];
      if (name === undefined || text === undefined) throw new ProtocolError("not a header");
      this.#readHeader(name.toLowerCase(), withoutBlanks(text), framing);
    }
    return framing;
  }

  #readHeader(name: string, value: string, framing: Framing): void {
    switch (name) {
      case "content-length":
        for (const one of value.split(",")) this.#readLength(one, framing);
        break;
      case "transfer-encoding": {
        const codings = value.toLowerCase();
        framing.codings = framing.codings === null ? codings : `${framing.codings},${codings}`;
        break;
      }
      case "connection":
        if (/(?:^|[\s,])close(?:$|[\s,])/i.test(value)) this.keepAliveMs = 0;
        break;
      case "keep-alive": {
        const seconds = /(?:^|[\s,])timeout=(\d{1,6})/i.exec(value)?.[1];
        if (seconds !== undefined && this.keepAliveMs === null)
          this.keepAliveMs = Math.max(0, Number(seconds) * 1_000 - KEEP_ALIVE_MARGIN_MS);
        break;
      }
      case "retry-after":
        this.retryAfter = value;
        break;
      case "webhook-stop":
        this.stop.push(value);
        break;
    }
  }

  #readLength(text: string, framing: Framing): void {
    const digits = withoutBlanks(text);
    if (!LENGTH.test(digits)) throw new ProtocolError("not a length");
    const length = Number(digits);
    if (framing.length !== null) {
      if (framing.length !== length) throw new ProtocolError("two lengths");
      this.keepAliveMs = 0;
    }
    framing.length = length;
  }

  #begin({ length, codings }: Framing): void {
    const isChunked = codings !== null && CHUNKED_AT_LAST.test(codings);
    if (codings !== null && !isChunked && codings !== "identity")
      throw new ProtocolError("codings without chunked at last");
    // Some servers name a length and codings, or codings twice. Chunks count then, and the connection ends with them.
    if (codings !== null && (length !== null || codings !== "chunked")) this.keepAliveMs = 0;
    // A body that must not be there may be on its way.
    if (this.statusCode === 204 && (codings !== null || (length ?? 0) > 0)) this.keepAliveMs = 0;
    const empty = !this.#hasBody || this.statusCode === 204 || this.statusCode === 304;
    if (empty || (length === 0 && !isChunked)) this.#state = "done";
    else if (isChunked) this.#state = "chunk-size";
    else if (length === null) {
      this.#state = "until-close";
      this.#left = Number.POSITIVE_INFINITY;
      this.keepAliveMs = 0;
    } else {
      this.#state = "length";
      this.#left = length;
    }
  }

  #readBody(bytes: Buffer): Buffer {
    const piece = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left);
    this.#left -= piece.length;
    this.#bodyBytes += piece.length;
    if (this.#keptBytes < this.#keepBytes) {
      const head = piece.subarray(0, this.#keepBytes - this.#keptBytes);
      this.#kept.push(head);
      this.#keptBytes += head.length;
    }
    if (this.#bodyBytes > DRAIN_BYTES_MAX) this.#cut();
    else if (this.#left === 0) this.#state = this.#state === "chunk" ? "chunk-end" : "done";
    return bytes.subarray(piece.length);
  }

  /** What is left of the body is not read. */
  #cut(): void {
    if (this.#state === "head") throw new ProtocolError("a head in pieces");
    this.#state = "done";
    this.keepAliveMs = 0;
  }

  /** The lines between chunks and after them. */
  #readLine(bytes: Buffer): Buffer | null {
    const end = this.#endOf(bytes, "\r\n");
    const length = end < 0 ? bytes.length : end;
    if (this.#state === "trailer") this.#checkHeadBytes(length);
    else if (length > CHUNK_LINE_BYTES_MAX) throw new ProtocolError("a long line");
    if (end < 0) return this.#wait(bytes);
    // Sizes with long extensions, for a byte each, are no way around the bound of what is read.
    if (this.#state !== "trailer") this.#bodyBytes += end + 2;
    const line = bytes.toString("latin1", 0, end);
    if (this.#state === "chunk-size") {
      const [, size] = CHUNK_LINE.exec(line) ?? [];
      if (size === undefined) throw new ProtocolError("not the size of a chunk");
      // Nobody needs extensions, and parsers differ in what they take for one.
      if (line.length > size.length) this.keepAliveMs = 0;
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? "trailer" : "chunk";
    } else if (this.#state === "chunk-end") {
      if (line !== "") throw new ProtocolError("a chunk longer than its size");
      this.#state = "chunk-size";
    } else if (line === "") this.#state = "done";
    else if (HEADER_LINE.test(line)) this.#headBytes += end + 2;
    else throw new ProtocolError("not a trailer");
    return bytes.subarray(end + 2);
  }

  /** Of all heads and trailers of the response together. */
  #checkHeadBytes(more: number): void {
    if (this.#headBytes + more > HEAD_BYTES_MAX) throw new ProtocolError("a long head");
  }

  #wait(bytes: Buffer): null {
    this.#pending = bytes;
    return null;
  }
}

/**
 * Of a head that is not complete, of which its first bytes, `searched` of them, hold no line: whether it does now. What is no HTTP is
 * not waited for.
 */
function endsStatusLine(bytes: Buffer, searched: number): boolean {
  const end = bytes.indexOf("\n", searched);
  const isHttp =
    end < 0
      ? BEGINNING.startsWith(bytes.toString("latin1", 0, BEGINNING.length))
      : bytes[end - 1] === CR && STATUS_LINE.test(bytes.toString("latin1", 0, end - 1));
  if (!isHttp) throw new ProtocolError("not a status line");
  return end >= 0;
}

/** Without the blanks around it; not what else `trim` takes for blanks, as others would read such a value differently. */
function withoutBlanks(text: string): string {
  let from = 0;
  let to = text.length;
  while (isBlank(text.charCodeAt(from))) from++;
  while (isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

interface Framing {
  length: number | null;
  /** In lower case, of all lines together. */
  codings: string | null;
}
