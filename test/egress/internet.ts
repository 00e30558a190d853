/** An internet of the test's own: public and inside addresses with listeners, names that lead to them, and callers out to it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttp, type RequestListener, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import type { TLSSocket } from "node:tls";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import { endOf, openTestCaller, type TestCaller } from "./call.ts";
import { makeCertificates, readCertificate } from "./certificates.ts";
import { type Answerer, type DnsServer, openDnsServer, type Zone } from "./dns-server.ts";
import { addAddresses, testInNamespace } from "./namespace.ts";

/** An address that calls may reach; each has a listener here, and so have INSIDE and the loopback ones. */
export const PUBLIC = "93.184.216.34";
export const PUBLIC_2 = "1.1.1.1";
/** Public, with nobody listening. */
const PUBLIC_DEAD = "8.8.8.8";
export const PUBLIC_6 = "2606:4700:4700::1111";
const OPEN = [PUBLIC, PUBLIC_2, PUBLIC_6];
const INSIDE = [
  "10.0.0.1",
  "100.64.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "192.168.1.1",
  "198.18.0.1",
  "203.0.113.7",
  "64:ff9b::7f00:1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2600:1f18::5efe:7f00:1",
  "fc00::1",
  "fd00:ec2::254",
];

const zones: Record<string, Zone | Answerer> = {
  "public.test": { addresses: [PUBLIC] },
  "a.test": { addresses: [PUBLIC] },
  "b.test": { addresses: [PUBLIC] },
  "stranger.test": { addresses: [PUBLIC] },
  "public6.test": { addresses: [PUBLIC_6] },
  "dual.test": { addresses: [PUBLIC_DEAD, PUBLIC_6] },
  "half-dead.test": { addresses: [PUBLIC_DEAD, PUBLIC] },
  "alias.test": { addresses: [PUBLIC], alias: "a.test" },
  "private.test": { addresses: ["10.0.0.1"] },
  "metadata.test": { addresses: ["169.254.169.254"] },
  "loopback6.test": { addresses: ["::1"] },
  "mapped.test": { addresses: ["::ffff:127.0.0.1"] },
  "mapped-public.test": { addresses: ["::ffff:93.184.216.34"] },
  "compatible.test": { addresses: ["::127.0.0.1"] },
  "mixed.test": { addresses: [PUBLIC, "10.0.0.1"] },
  "mixed-last.test": { addresses: ["192.168.1.1", PUBLIC, PUBLIC_2] },
  "mixed-families.test": { addresses: [PUBLIC, "::1"] },
  "alias-inside.test": { addresses: ["10.0.0.1"], alias: "internal.corp" },
  "many.test": { addresses: Array.from({ length: 65 }, (_, i) => `93.184.216.${i + 1}`) },
  "empty.test": { addresses: [] },
  "rebinds.test": (_name, nth) => ({
    addresses: [nth === 0 ? PUBLIC : "127.0.0.1"],
    ttlSeconds: 0,
  }),
  "moves.test": (_name, nth) => ({ addresses: [nth < 2 ? PUBLIC : "127.0.0.1"], ttlSeconds: 0 }),
  "warm.test": (_name, nth) => ({ addresses: [nth === 0 ? PUBLIC : "10.0.0.1"], ttlSeconds: 0 }),
  "flips.test": (_name, nth) => ({
    addresses: [nth % 2 === 0 ? PUBLIC : "127.0.0.1"],
    ttlSeconds: 0,
  }),
};

const certificates = () => {
  const dir = mkdtempSync(join(tmpdir(), "egress-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  makeCertificates(dir, [
    "DNS:a.test",
    "DNS:b.test",
    "DNS:public.test",
    "DNS:moves.test",
    `IP:${PUBLIC}`,
  ]);
  // A proxy that is not to be used: it would be one more way in.
  const proxy = { HTTP_PROXY: "http://10.0.0.1:80", HTTPS_PROXY: "http://10.0.0.1:80" };
  return {
    EGRESS_CERTIFICATES: dir,
    NODE_EXTRA_CA_CERTS: join(dir, "ca.pem"),
    NODE_USE_ENV_PROXY: "1",
    ...proxy,
  };
};

/** A connection that arrived, by the address it was dialled at. */
export interface Arrival {
  readonly address: string;
  readonly socket: Socket;
  requests: string[];
  serverName: string;
  /** Whether it took up a TLS session. */
  resumed: boolean;
}

/** What tests of targets do in their namespace. */
export interface Internet {
  readonly arrivals: Arrival[];
  /** Addresses that were dialled since there were `from` arrivals. */
  arrivedAt(from: number): string[];
  /** How often the name server was asked for the name. */
  asked(name: string): number;
  open(settings?: Parameters<typeof createEgressPolicy>[0]): TestCaller;
  /** Fails unless the call is refused, with `reason` in the log. */
  refused(url: string, ipv6: boolean, reason: RegExp): Promise<void>;
}

/** Runs `cases` in a namespace in which every address has a listener that counts; fails when one that is not public was dialled. */
export function testOnInternet(
  name: string,
  file: string,
  cases: (internet: Internet) => void,
): void {
  testInNamespace(name, file, certificates, () => cases(openInternet()));
}

/** Comes up before the first test of the file, and goes after the last. */
function openInternet(): Internet {
  const arrivals: Arrival[] = [];
  const servers: { close(): unknown; closeAllConnections?(): void }[] = [];
  let dns: DnsServer;

  const listenEverywhere = async (
    server: Server | ReturnType<typeof createTcp>,
    port: number,
    host: string,
  ) => {
    server.on("connection", (socket: Socket) => {
      const address = (socket.localAddress ?? "").replace(/^::ffff:/, "mapped ");
      arrivals.push({ address, socket, requests: [], serverName: "", resumed: false });
    });
    server.listen({ port, host, ipv6Only: host === "::" });
    await once(server, "listening");
    servers.push(server);
  };

  const answer: RequestListener = (request, response) => {
    // The connection under a TLS socket is another object, with the same port at the other end.
    const arrival = arrivals.findLast(
      ({ socket }) => socket.remotePort === request.socket.remotePort,
    );
    arrival?.requests.push(`${request.headers.host}${request.url}`);
    if (arrival !== undefined) {
      const socket = request.socket as Partial<TLSSocket>;
      arrival.serverName = String(socket.servername ?? "");
      arrival.resumed = socket.isSessionReused?.() ?? false;
    }
    request.resume();
    if (request.url === "/close") response.writeHead(200, { connection: "close" });
    if (request.url?.startsWith("/redirect?"))
      response.writeHead(302, { location: decodeURIComponent(request.url.slice(10)) });
    response.end("here");
  };

  before(async () => {
    addAddresses([...OPEN, ...INSIDE]);
    const certificate = readCertificate(process.env.EGRESS_CERTIFICATES ?? "");
    // PUBLIC_DEAD is not on the interface: it is unreachable at once, as there is no route.
    for (const host of ["0.0.0.0", "::"]) {
      await listenEverywhere(createHttp(answer), 80, host);
      await listenEverywhere(createHttps(certificate, answer), 443, host);
      await listenEverywhere(
        createTcp((socket) => socket.resume()),
        22,
        host,
      );
      await listenEverywhere(createHttp(answer), 8080, host);
    }
    dns = await openDnsServer((name, nth) => {
      const zone = zones[name] ?? "nothing";
      return typeof zone === "function" ? zone(name, nth) : zone;
    });
  });

  after(async () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections?.();
    }
    for (const { socket } of arrivals) socket.destroy();
    await dns.close();
    const inside = arrivals.filter(({ address }) => !OPEN.includes(address));
    assert.deepEqual(
      inside.map(({ address, socket }) => `${address}: ${socket.bytesRead} bytes`),
      [],
    );
  });

  const open = (settings: Parameters<typeof createEgressPolicy>[0] = {}) =>
    openTestCaller({ policy: createEgressPolicy(settings), nameServers: [dns.address] });

  /** A fresh caller each time, so that every refusal has its line in the log. */
  const refused = async (url: string, ipv6: boolean, reason: RegExp) => {
    const own = open({ ipv6 });
    const outcome = await own.call(url);
    await own.caller.close();
    assert.equal(endOf(outcome), "destination-not-allowed", url);
    // The tenant learns nothing but that.
    const { durationMs: _, timings: __, ...told } = outcome;
    assert.deepEqual(told, { kind: "failed", error: "destination-not-allowed" });
    assert.equal(own.refusals.length, 1);
    assert.match(own.refusals[0]?.message ?? "", reason, url);
  };

  const arrivedAt = (from: number) => arrivals.slice(from).map(({ address }) => address);

  return { arrivals, arrivedAt, asked: (name) => dns.asked(name), open, refused };
}
