import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "#adapters/system/clock.ts";
import { type DnsServer, openDnsServer, type Zone } from "#test/egress/dns-server.ts";
import { LookupFailed } from "./errors.ts";
import { openHostResolver, type ResolverOptions } from "./resolve-host.ts";

const zones: Record<string, Zone> = {
  "kept.test": { addresses: ["1.1.1.1", "8.8.8.8", "2606:4700::1"], ttlSeconds: 30 },
  "long.test": { addresses: ["1.1.1.1"], ttlSeconds: 86_400 },
  "never-kept.test": { addresses: ["1.1.1.1"], ttlSeconds: 0 },
  "four.test": { addresses: ["1.1.1.1"], ipv6: "hangs" },
  "six.test": { addresses: ["2606:4700::1"] },
};
let dns: DnsServer;
let nowMs = 0;
const clock = { ...systemClock, monotonicMs: () => nowMs };
const scratch = mkdtempSync(join(tmpdir(), "hosts-"));
const hostsFile = join(scratch, "hosts");

before(async () => {
  writeFileSync(
    hostsFile,
    "127.0.0.1 localhost # here\n10.1.2.3\tOwn own.corp\n::9 own\n300.1.1.1 wrong\n\n",
  );
  dns = await openDnsServer((name) => zones[name] ?? "nothing");
});
after(async () => {
  rmSync(scratch, { recursive: true });
  await dns.close();
});

const open = (options: Partial<ResolverOptions> = {}) =>
  openHostResolver({ clock, ipv6: false, nameServers: [dns.address], hostsFile, ...options });

test("all addresses, in the answer's order; IPv6 ones only when asked for", async () => {
  const [v4, v6] = [open(), open({ ipv6: true })];
  assert.deepEqual(await v4.resolve("kept.test"), ["1.1.1.1", "8.8.8.8"]);
  assert.deepEqual(await v6.resolve("kept.test"), ["1.1.1.1", "8.8.8.8", "2606:4700::1"]);
  assert.deepEqual(await v6.resolve("six.test"), ["2606:4700::1"]);
  await assert.rejects(v4.resolve("six.test"), LookupFailed);
});

test("a name server that never answers for IPv6 is waited for for a quarter of a second", async () => {
  const own = open({ ipv6: true });
  const startMs = performance.now();
  assert.deepEqual(await own.resolve("four.test"), ["1.1.1.1"]);
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs > 240 && tookMs < 1_500, `${tookMs} ms`);
  const before = dns.asked("four.test");
  assert.deepEqual(await own.resolve("four.test"), ["1.1.1.1"]);
  assert.equal(dns.asked("four.test"), before, "the answer is kept");
  own.close();
});

test("an answer is kept for its TTL, five minutes at most, and not at all when it is 0", async () => {
  const own = open();
  const asks = async (name: string) => {
    const before = dns.asked(name);
    await own.resolve(name);
    return dns.asked(name) - before;
  };
  assert.equal(await asks("kept.test"), 1);
  nowMs += 29_999;
  assert.equal(await asks("kept.test"), 0);
  nowMs += 1;
  assert.equal(await asks("kept.test"), 1);
  assert.equal(await asks("long.test"), 1);
  nowMs += 299_999;
  assert.equal(await asks("long.test"), 0);
  nowMs += 1;
  assert.equal(await asks("long.test"), 1);
  assert.equal(await asks("never-kept.test"), 1);
  assert.equal(await asks("never-kept.test"), 1);
});

test("one query is under way per name, whoever waits; a name that is not there is asked for once a second", async () => {
  const own = open();
  const before = [dns.asked("never-kept.test"), dns.asked("nobody.test")] as const;
  await Promise.all(Array.from({ length: 50 }, () => own.resolve("never-kept.test")));
  assert.equal(dns.asked("never-kept.test"), before[0] + 1);
  for (let i = 0; i < 3; i++) await assert.rejects(own.resolve("nobody.test"), LookupFailed);
  assert.equal(dns.asked("nobody.test"), before[1] + 1);
  nowMs += 1_000;
  await assert.rejects(own.resolve("nobody.test"), LookupFailed);
  assert.equal(dns.asked("nobody.test"), before[1] + 2);
});

test("localhost and names of the hosts file are asked of nobody", async () => {
  const own = open();
  assert.deepEqual(await own.resolve("localhost"), ["127.0.0.1"]);
  assert.deepEqual(await own.resolve("a.localhost."), ["127.0.0.1"]);
  assert.deepEqual(await own.resolve("a.localhost..."), ["127.0.0.1"]);
  assert.deepEqual(await own.resolve("own.."), ["10.1.2.3"]);
  assert.deepEqual(await own.resolve("own"), ["10.1.2.3"]);
  assert.deepEqual(await open({ ipv6: true }).resolve("own"), ["10.1.2.3", "::9"]);
  assert.equal(dns.asked("own") + dns.asked("localhost") + dns.asked("a.localhost"), 0);
  await assert.rejects(own.resolve("wrong"), LookupFailed);
  await assert.rejects(open({ hostsFile: `${hostsFile}.gone` }).resolve("own"), LookupFailed);
});
