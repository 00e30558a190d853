/** Where calls go: a call's URL decides alone. The URL parser has made one address of every notation of it. */
import { RequestInvalid } from "./errors.ts";
import type { Target } from "./open-socket.ts";

const HTTP_PORT = 80;
const HTTPS_PORT = 443;
const KEPT_MAX = 5_000;
/** Longer URLs are read each time. */
const KEPT_LENGTH_MAX = 512;

export interface ReadTarget {
  readonly target: Target;
  readonly origin: string;
  /** As the Host header has it: with the port, if it is not the standard one. */
  readonly host: string;
  readonly path: string;
}

/** Whether a call can go there. */
export function isHttp(url: string): boolean {
  return /^https?:/i.test(url) && URL.canParse(url);
}

/** Reads URLs; the same ones come again and again. */
export class Targets {
  readonly #kept = new Map<string, ReadTarget>();

  /** Throws RequestInvalid, or the URL parser's error, which has the same meaning. */
  read(url: string): ReadTarget {
    const known = this.#kept.get(url);
    if (known !== undefined) return known;
    const read = readTarget(url);
    if (url.length > KEPT_LENGTH_MAX) return read;
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
    this.#kept.set(url, read);
    return read;
  }
}

function readTarget(url: string): ReadTarget {
  const { protocol, hostname, host, port, origin, pathname, search } = new URL(url);
  const tls = protocol === "https:";
  if (!tls && protocol !== "http:") throw new RequestInvalid("neither http nor https");
  const standardPort = tls ? HTTPS_PORT : HTTP_PORT;
  const target = {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? standardPort : Number(port),
    tls,
  };
  return { target, origin, host, path: `${pathname}${search}` };
}
