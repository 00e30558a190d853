/**
 * Addresses that are not public unicast, from the IANA registries "IPv4 Special-Purpose Address Space"
 * (iana.org/assignments/iana-ipv4-special-registry), "IPv6 Special-Purpose Address Space" (…/iana-ipv6-special-registry),
 * "IPv4 Multicast" and "IPv6 Address Space", looked at in November 2026; the youngest entry in here is 100:0:0:1::/64
 * (RFC 9780, April 2025), outside 2000::/3.
 *
 * Every entry is refused, those that the registry calls globally reachable too (anycast of AS112, AMT, TURN): no endpoint
 * of a tenant lives there. IPv6 is an allow list: 2000::/3 less the exceptions; all else is unallocated, local, multicast
 * or hides an IPv4 address (mapped, compatible, NAT64).
 */
import { contains, type IpAddress, type IpRange, parseRange } from "./ip-address.ts";

const IPV4: Readonly<Record<string, string>> = {
  "0.0.0.0/8": "this network",
  "10.0.0.0/8": "private use",
  "100.64.0.0/10": "shared address space",
  "127.0.0.0/8": "loopback",
  "169.254.0.0/16": "link local",
  "172.16.0.0/12": "private use",
  "192.0.0.0/24": "IETF protocol assignments",
  "192.0.2.0/24": "documentation",
  "192.31.196.0/24": "AS112",
  "192.52.193.0/24": "AMT",
  "192.88.99.0/24": "6to4 relays, deprecated",
  "192.168.0.0/16": "private use",
  "192.175.48.0/24": "AS112",
  "198.18.0.0/15": "benchmarking",
  "198.51.100.0/24": "documentation",
  "203.0.113.0/24": "documentation",
  "224.0.0.0/4": "multicast",
  "240.0.0.0/4": "reserved and broadcast",
};

const IPV6_GLOBAL_UNICAST = readRange("2000::/3");

const IPV6_EXCEPTIONS: Readonly<Record<string, string>> = {
  "2001::/23": "IETF protocol assignments: Teredo, benchmarking, AMT, AS112, ORCHID, DRIP",
  "2001:db8::/32": "documentation",
  "2002::/16": "6to4",
  "2620:4f:8000::/48": "AS112",
  "3fff::/20": "documentation",
};

const SPECIAL = Object.entries({ ...IPV4, ...IPV6_EXCEPTIONS }).map(([text, use]) => ({
  range: readRange(text),
  use,
}));

/** What the address is reserved for, with its range; null for public unicast. */
export function specialUse(address: IpAddress): string | null {
  if (address.bits === 128 && !contains(IPV6_GLOBAL_UNICAST, address))
    return "outside of IPv6 global unicast 2000::/3";
  const found = SPECIAL.find(({ range }) => contains(range, address));
  if (found !== undefined) return `${found.use} ${found.range.text}`;
  return isIsatap(address.value) ? "ISATAP, hides an IPv4 address" : null;
}

/** RFC 5214: an interface identifier of ::0:5efe:a.b.c.d or ::200:5efe:a.b.c.d, in any network. */
function isIsatap(value: bigint): boolean {
  const identifier = (value >> 32n) & 0xffff_ffffn;
  return identifier === 0x0000_5efen || identifier === 0x0200_5efen;
}

function readRange(text: string): IpRange {
  const range = parseRange(text);
  if (range === null) throw new Error(`not a range: ${text}`);
  return range;
}
