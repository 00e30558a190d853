/** A name server that answers as a test says: the other end of rebinding, and of name servers that hang. UDP, A and AAAA. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

export interface Zone {
  /** A and AAAA together: what was not asked for is left out of the answer. */
  readonly addresses: readonly string[];
  readonly ttlSeconds?: number;
  /** The addresses are this name's, and the asked one is an alias of it. */
  readonly alias?: string;
  /** What is asked for IPv6 addresses gets no answer. */
  readonly ipv6?: "hangs";
}

/** What a name's `nth` query of a type (0 for the first) gets. */
export type Answerer = (name: string, nth: number) => Zone | "hang" | "nothing";

export interface DnsServer {
  /** For `nameServers`. */
  readonly address: string;
  /** Queries of a name so far, of both types. */
  asked(name: string): number;
  close(): Promise<void>;
}

const TYPES: Readonly<Record<number, "A" | "AAAA">> = { 1: "A", 28: "AAAA" };
const NAME_ERROR = 3;

export async function openDnsServer(answer: Answerer): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const counts = new Map<string, number>();
  socket.on("message", (query, from) => {
    const { name, end } = readName(query, 12);
    const type = TYPES[query.readUInt16BE(end)];
    const count = `${type} ${name}`;
    const nth = counts.get(count) ?? 0;
    counts.set(count, nth + 1);
    const zone = answer(name, nth);
    if (zone === "hang") return;
    if (zone !== "nothing" && zone.ipv6 === "hangs" && type === "AAAA") return;
    const question = query.subarray(12, end + 4);
    const records = zone === "nothing" ? [] : recordsOf(zone, type);
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | (zone === "nothing" ? NAME_ERROR : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, question, ...records]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    asked: (name) => (counts.get(`A ${name}`) ?? 0) + (counts.get(`AAAA ${name}`) ?? 0),
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
}

function recordsOf(zone: Zone, type: "A" | "AAAA" | undefined): Buffer[] {
  const { addresses, ttlSeconds = 60, alias } = zone;
  const wanted = addresses.filter((text) => (text.includes(":") ? "AAAA" : "A") === type);
  const owner = alias === undefined ? Buffer.from([0xc0, 12]) : writeName(alias);
  const record = (name: Buffer, code: number, data: Buffer) => {
    const fixed = Buffer.alloc(10);
    fixed.writeUInt16BE(code, 0);
    fixed.writeUInt16BE(1, 2);
    fixed.writeUInt32BE(ttlSeconds, 4);
    fixed.writeUInt16BE(data.length, 8);
    return Buffer.concat([name, fixed, data]);
  };
  const found = wanted.map((text) => record(owner, type === "A" ? 1 : 28, addressBytes(text)));
  const asked = Buffer.from([0xc0, 12]);
  return alias === undefined ? found : [record(asked, 5, writeName(alias)), ...found];
}

function addressBytes(text: string): Buffer {
  if (!text.includes(":")) return Buffer.from(text.split(".").map(Number));
  // The URL parser writes every form as hexadecimal groups.
  const [head = "", tail = ""] = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::");
  const groups = (side: string) => (side === "" ? [] : side.split(":"));
  const zeros = Array(8 - groups(head).length - groups(tail).length).fill("0");
  const bytes = Buffer.alloc(16);
  for (const [index, group] of [...groups(head), ...zeros, ...groups(tail)].entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  return bytes;
}

function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

function writeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}
