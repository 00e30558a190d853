import { withoutLastDots } from "./host-name.ts";

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * Scheme, host and port of a URL, the same text however they are written: `https://api.example.com:443`. ASCII; null where it is none
 * of HTTP's, or without a name.
 */
export function originOf(url: string): string | null {
  const parsed = URL.parse(url);
  const defaultPort = parsed === null ? undefined : DEFAULT_PORTS[parsed.protocol];
  if (parsed === null || defaultPort === undefined) return null;
  const { protocol, port } = parsed;
  const hostname = withoutLastDots(parsed.hostname);
  return hostname === "" ? null : `${protocol}//${hostname}:${port === "" ? defaultPort : port}`;
}
