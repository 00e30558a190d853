/** Where calls arrive, and where they do not: every address has a listener here that counts. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttp, type RequestListener, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import { endOf, openTestCaller, type TestCaller } from "./call.ts";
import { makeCertificates, readCertificate } from "./certificates.ts";
import { type Answerer, type DnsServer, openDnsServer, type Zone } from "./dns-server.ts";
import { addAddresses, testInNamespace } from "./namespace.ts";

const PUBLIC = "93.184.216.34";
const PUBLIC_2 = "1.1.1.1";
/** Public, with nobody listening. */
const PUBLIC_DEAD = "8.8.8.8";
const PUBLIC_6 = "2606:4700:4700::1111";
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

/** Notations of addresses that are refused; a connect would arrive at a listener of ours. */
const REFUSED_LITERALS = [
  "127.0.0.1|127.1|2130706433|0177.0.0.1|0x7f000001|0x7f.1|127.0.0.1.|127.255.255.254",
  "１２７.０.０.１|①②⑦.⓪.⓪.①|127。0。0。1|０ｘ７ｆ.1|0|0.0.0.0|127.0.0.1:443|93.184.216.34@127.0.0.1",
  "10.0.0.1|167772161|012.0.0.1|169.254.169.254|2852039166|0xa9fea9fe|0251.0376.0251.0376",
  "172.16.0.1|192.168.1.1|100.64.0.1|198.18.0.1|203.0.113.7|localhost|a.localhost|LOCALHOST",
  "[::1]|[::]|[0:0:0:0:0:0:0:1]|[::ffff:127.0.0.1]|[::ffff:7f00:1]|[::ffff:10.0.0.1]|[::ffff:93.184.216.34]",
  "[64:ff9b::7f00:1]|[2002:7f00:1::]|[2600:1f18::5efe:7f00:1]|[fd00:ec2::254]|[fc00::1]|[2001:db8::1]",
  `${PUBLIC}:22|${PUBLIC}:8080|[${PUBLIC_6}]:8080`,
].flatMap((line) => line.split("|"));

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
  "warm.test": (_name, nth) => ({ addresses: [nth === 0 ? PUBLIC : "10.0.0.1"], ttlSeconds: 0 }),
  "flips.test": (_name, nth) => ({
    addresses: [nth % 2 === 0 ? PUBLIC : "127.0.0.1"],
    ttlSeconds: 0,
  }),
};

const certificates = () => {
  const dir = mkdtempSync(join(tmpdir(), "egress-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  makeCertificates(dir, ["DNS:a.test", "DNS:b.test", "DNS:public.test", `IP:${PUBLIC}`]);
  // A proxy that is not to be used: it would be one more way in.
  const proxy = { HTTP_PROXY: "http://10.0.0.1:80", HTTPS_PROXY: "http://10.0.0.1:80" };
  return {
    EGRESS_CERTIFICATES: dir,
    NODE_EXTRA_CA_CERTS: join(dir, "ca.pem"),
    NODE_USE_ENV_PROXY: "1",
    ...proxy,
  };
};

testInNamespace(
  "calls reach public addresses and nothing else",
  import.meta.filename,
  certificates,
  cases,
);

/** A connection that arrived, by the address it was dialled at. */
interface Arrival {
  readonly address: string;
  readonly socket: Socket;
  requests: string[];
  serverName: string;
}

function cases(): void {
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
      arrivals.push({ address, socket, requests: [], serverName: "" });
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
    if (arrival !== undefined)
      arrival.serverName = String((request.socket as TLSSocket).servername ?? "");
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

  describe("literal addresses", () => {
    test("every notation of a refused one is refused, with IPv6 off and on; the guard off, each would be reached", async () => {
      const start = arrivals.length;
      for (const literal of REFUSED_LITERALS)
        for (const ipv6 of [false, true])
          for (const scheme of literal.includes("]:") || /:\d+$/.test(literal)
            ? ["http"]
            : ["http", "https"])
            await refused(`${scheme}://${literal}/x?secret=1`, ipv6, /^(literal|answer) /);
      assert.deepEqual(arrivedAt(start), []);
      const off = open({ allow: "0.0.0.0/0:*,::/0:*", ipv6: true });
      const unreached = [];
      for (const literal of REFUSED_LITERALS) {
        const before = arrivals.length;
        await off.call(`http://${literal}/close`, { timeoutMs: 1_000 });
        if (arrivals.length === before) unreached.push(literal);
      }
      await off.caller.close();
      for (const { socket } of arrivals.splice(start)) socket.destroy();
      assert.deepEqual(unreached, [], "a listener of ours is behind every refused literal");
    });

    test("public ones are reached, also in other notations, and over TLS", async () => {
      const own = open({ ipv6: true });
      for (const url of [
        `http://${PUBLIC}/`,
        `http://${PUBLIC_2}/`,
        "http://1572395042/",
        "http://0x5db8d822/",
        "http://0135.0270.0330.042/",
        "http://９３.１８４.２１６.３４/",
        "http://93。184。216。34/",
        `http://[${PUBLIC_6}]/`,
        "http://[2606:4700:4700:0:0:0:0:1111]/",
        `https://${PUBLIC}/`,
      ])
        assert.equal(endOf(await own.call(url)), 200, url);
      await own.caller.close();
    });

    test("a public IPv6 address is refused while IPv6 is off", async () => {
      await refused(`http://[${PUBLIC_6}]/`, false, /^literal 2606:4700:4700::1111: IPv6 is off; /);
    });
  });

  describe("names", () => {
    test("are reached at their public addresses: IPv4, IPv6, alias, and the next one when the first is dead", async () => {
      const own = open({ ipv6: true });
      for (const name of [
        "public.test",
        "PUBLIC.test.",
        "public6.test",
        "alias.test",
        "half-dead.test",
        "dual.test",
      ])
        assert.equal(endOf(await own.call(`http://${name}/`)), 200, name);
      assert.equal(endOf(await own.call("https://public.test/")), 200);
      await own.caller.close();
    });

    test("one refused address refuses the name, wherever it is in the answer", async () => {
      const start = arrivals.length;
      for (const [name, reason] of [
        [
          "private.test",
          /^answer 10.0.0.1: private use 10.0.0.0\/8; tenant acme, http:\/\/private.test$/,
        ],
        ["metadata.test", /^answer 169.254.169.254: link local/],
        ["mixed.test", /^answer 10.0.0.1: private use/],
        ["mixed-last.test", /^answer 192.168.1.1: private use/],
        ["alias-inside.test", /^answer 10.0.0.1: private use/],
      ] as const)
        for (const ipv6 of [false, true])
          await refused(`http://${name}/?token=canary`, ipv6, reason);
      for (const [name, reason] of [
        ["mixed-families.test", /^answer ::1: outside of IPv6 global unicast/],
        ["loopback6.test", /^answer ::1: outside/],
        ["mapped.test", /^answer ::ffff:127.0.0.1: outside/],
        ["mapped-public.test", /^answer ::ffff:93.184.216.34: outside/],
        ["compatible.test", /^answer ::(127.0.0.1|7f00:1): outside/],
      ] as const)
        await refused(`http://${name}/`, true, reason);
      assert.deepEqual(arrivedAt(start), []);
    });

    test("IPv6 addresses are not asked for while IPv6 is off", async () => {
      const own = open();
      assert.equal(endOf(await own.call("http://mixed-families.test/")), 200);
      for (const name of ["loopback6.test", "public6.test", "mapped.test"])
        assert.equal(endOf(await own.call(`http://${name}/`)), "dns", name);
      await own.caller.close();
    });

    test("no name, no address, or more addresses than anybody has: dns", async () => {
      const own = open();
      for (const name of ["nobody.test", "empty.test", "many.test"])
        assert.equal(endOf(await own.call(`http://${name}/`)), "dns", name);
      await own.caller.close();
    });

    test("a denied name and its subdomains are refused before they are asked for", async () => {
      const own = open({ deny: "public.test" });
      const before = dns.asked("public.test");
      assert.equal(endOf(await own.call("http://public.test/")), "destination-not-allowed");
      assert.equal(endOf(await own.call("http://public.test./")), "destination-not-allowed");
      assert.equal(dns.asked("public.test"), before);
      assert.equal(endOf(await own.call("http://a.test/")), 200);
      await own.caller.close();
    });
  });

  describe("answers that change", () => {
    const many = async (own: TestCaller, url: string, count: number) => {
      const ends = await Promise.all(Array.from({ length: count }, () => own.call(url)));
      return ends.map(endOf);
    };

    test("public first, then 127.0.0.1: the next connection is refused", async () => {
      const own = open();
      assert.deepEqual(await many(own, "http://rebinds.test/close", 1), [200]);
      assert.deepEqual(
        await many(own, "http://rebinds.test/close", 20),
        Array(20).fill("destination-not-allowed"),
      );
      assert.match(own.refusals[0]?.message ?? "", /^answer 127.0.0.1: loopback/);
      await own.caller.close();
    });

    test("flipping at every query: reached at the public address or refused, nothing between", async () => {
      const own = open();
      const start = arrivals.length;
      const ends = new Set<string | number>();
      for (let i = 0; i < 40; i++) ends.add(endOf(await own.call("http://flips.test/close")));
      assert.deepEqual([...ends], [200, "destination-not-allowed"]);
      assert.deepEqual(arrivedAt(start), Array(20).fill(PUBLIC));
      await own.caller.close();
    });

    test("a warm connection stays with the address it was checked for; after it, the name is refused", async () => {
      const own = open();
      const start = arrivals.length;
      assert.equal(endOf(await own.call("http://warm.test/")), 200);
      assert.equal(dns.asked("warm.test"), 1);
      const warm = await own.call("http://warm.test/close");
      assert.equal(endOf(warm), 200);
      assert.partialDeepStrictEqual(warm.timings, { dnsMs: null, connectMs: null });
      assert.equal(dns.asked("warm.test"), 1);
      assert.deepEqual(arrivedAt(start), [PUBLIC]);
      assert.equal(endOf(await own.call("http://warm.test/")), "destination-not-allowed");
      await own.caller.close();
    });
  });

  describe("what the answer or the request says", () => {
    test("a redirect to the metadata service is an answer", async () => {
      const own = open();
      const start = arrivals.length;
      const location = encodeURIComponent("http://169.254.169.254/latest/meta-data/");
      assert.equal(endOf(await own.call(`http://public.test/redirect?${location}`)), 302);
      assert.deepEqual(arrivedAt(start), [PUBLIC]);
      await own.caller.close();
    });

    test("two names on one address: each has its own connection, Host, SNI and identity", async () => {
      const own = open();
      const start = arrivals.length;
      for (const url of ["http://a.test/", "http://b.test/", "https://a.test/", "https://b.test/"])
        assert.equal(endOf(await own.call(url)), 200, url);
      assert.equal(endOf(await own.call("https://stranger.test/")), "tls");
      const seen = arrivals
        .slice(start)
        .map(({ requests, serverName }) => [...requests, serverName]);
      assert.deepEqual(seen.slice(0, 4), [
        ["a.test/", ""],
        ["b.test/", ""],
        ["a.test/", "a.test"],
        ["b.test/", "b.test"],
      ]);
      assert.deepEqual(seen[4]?.slice(0, -1), [], "no request without identity");
      await own.caller.close();
    });

    test("tenants share no connection", async () => {
      const own = open();
      const start = arrivals.length;
      for (const tenantId of ["acme", "globex", "acme", "globex"])
        await own.call("http://a.test/", { tenantId: tenantId as never });
      assert.deepEqual(
        arrivals.slice(start).map(({ requests }) => requests.length),
        [2, 2],
      );
      await own.caller.close();
    });

    test("a Host header of the request's own is refused before anything is dialled", async () => {
      const own = open();
      const start = arrivals.length;
      for (const name of ["Host", "host", "HOST"])
        for (const url of ["http://a.test/", "https://a.test/", `http://${PUBLIC}/`])
          assert.equal(
            endOf(await own.call(url, { headers: { [name]: "169.254.169.254" } })),
            "request-invalid",
          );
      assert.deepEqual(arrivedAt(start), []);
      await own.caller.close();
    });
  });
}
