/**
 * IP addresses as numbers. The parser takes exactly what an address is written as: whatever else a resolver or an operating
 * system would still understand (leading zeros, hexadecimal, short forms, zones) is no address here, and so refused.
 */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** All addresses from `first` to `last`, one family. */
export interface IpRange {
  readonly text: string;
  readonly bits: 32 | 128;
  readonly first: bigint;
  readonly last: bigint;
}

const IPV4 = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;

/** Null when `text` is not an address. */
export function parseAddress(text: string): IpAddress | null {
  const value = text.includes(":") ? parseIpv6(text) : parseIpv4(text);
  if (value === null) return null;
  return { bits: text.includes(":") ? 128 : 32, value };
}

/** `10.0.0.0/8`; null when it is no such text or the address has bits beyond its prefix. */
export function parseRange(text: string): IpRange | null {
  const [base = "", length = "", ...rest] = text.split("/");
  const address = parseAddress(base);
  if (address === null || rest.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(length)) return null;
  const free = address.bits - Number(length);
  if (free < 0) return null;
  const span = 1n << BigInt(free);
  if (address.value % span !== 0n) return null;
  return { text, bits: address.bits, first: address.value, last: address.value + span - 1n };
}

export function contains(range: IpRange, address: IpAddress): boolean {
  return range.bits === address.bits && range.first <= address.value && address.value <= range.last;
}

function parseIpv4(text: string): bigint | null {
  const parts = IPV4.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return null;
  return BigInt(parts.reduce((value, part) => value * 256 + part, 0));
}

function parseIpv6(text: string): bigint | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [head, tail] = [groupsOf(halves[0] ?? ""), groupsOf(halves[1] ?? "")];
  if (head === null || tail === null) return null;
  // An embedded IPv4 address stands at the end only.
  if (halves.length === 2 && halves[0]?.includes(".")) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  const zeros = Array<bigint>(missing).fill(0n);
  return [...head, ...zeros, ...tail].reduce((value, group) => (value << 16n) | group, 0n);
}

/** 16-bit groups of one side of `::`; null for anything that is none. */
function groupsOf(text: string): bigint[] | null {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (part.includes(".") && index === parts.length - 1) {
      const ipv4 = parseIpv4(part);
      if (ipv4 === null) return null;
      groups.push(ipv4 >> 16n, ipv4 & 0xffffn);
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(BigInt(`0x${part}`));
    else return null;
  }
  return groups;
}
