import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { createEgressPolicy } from "./egress-policy.ts";

// EGRESS_ORACLE_ADDRESSES=300000 for the full run.
const ADDRESSES = Number(process.env.EGRESS_ORACLE_ADDRESSES ?? 30_000);
const cases = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../test/cases/ip-addresses.json"), "utf8"),
) as { refuse: string[]; allow: string[] };
const both = createEgressPolicy({ ipv6: true });
const standard = createEgressPolicy();

test("every listed address is judged right with IPv6 on", () => {
  assert.ok(cases.refuse.length >= 47 && cases.allow.length >= 15, "the lists are there");
  for (const address of cases.refuse)
    assert.notEqual(both.verdict(address, 443), null, `${address} must be refused`);
  for (const address of cases.allow)
    assert.equal(both.verdict(address, 443), null, `${address} must be allowed`);
});

test("without settings every IPv6 address is refused, and IPv4 is judged the same", () => {
  for (const address of [...cases.refuse, ...cases.allow.filter((text) => text.includes(":"))])
    assert.notEqual(standard.verdict(address, 443), null, address);
  for (const address of cases.allow.filter((text) => !text.includes(":")))
    assert.equal(standard.verdict(address, 443), null, address);
});

test("ports 80 and 443 and no other", () => {
  for (const port of [80, 443]) assert.equal(standard.verdict("1.1.1.1", port), null);
  for (const port of [0, 1, 22, 79, 81, 442, 444, 8080, 65_535, 65_536, -80, 80.5, Number.NaN])
    assert.notEqual(standard.verdict("1.1.1.1", port), null, String(port));
});

test("what is not an address in canonical text is refused", () => {
  const texts =
    "1.1.1|1.1.1.1.1|01.1.1.1|1.1.1.256|0x1.1.1.1|16843009| 1.1.1.1|1.1.1.1 |1.1.1.1%eth0|example.com||[2606:4700::1]|2606:4700::1%1|2606:4700:::1|" +
    "2606::4700::1|2606:4700:1:1:1:1:1|2606:4700:1:1:1:1:1:1:1|2606:4700:1:1:1:1:1::1|:2606:4700::1|2606:47001::1|2606:4700::1:|1.1.1.1::|2606::1.1.1.1:1|2606::1.1.1";
  for (const text of texts.split("|"))
    assert.equal(both.verdict(text, 443), "not an IP address", JSON.stringify(text));
  for (const text of [
    "2606:4700::",
    "2606:4700:1:1:1:1:1::",
    "2606:4700::1.1.1.1",
    "2606:4700::AB",
  ])
    assert.equal(both.verdict(text, 443), null, text);
});

test("EGRESS_ALLOW adds ranges at their ports, of both families; nothing else changes", () => {
  const allow = "127.0.0.0/8:*, 10.1.2.3/32:8080,::1/128:*,";
  const policy = createEgressPolicy({ allow });
  for (const [address, port] of [
    ["127.0.0.1", 1],
    ["127.255.255.255", 65_535],
    ["10.1.2.3", 8080],
    ["::1", 8080],
    ["1.1.1.1", 443],
  ] as const)
    assert.equal(policy.verdict(address, port), null, address);
  for (const [address, port] of [
    ["10.1.2.3", 80],
    ["10.1.2.4", 8080],
    ["::2", 8080],
    ["::ffff:127.0.0.1", 80],
    ["128.0.0.1", 8080],
    ["127.0.0.1", 0],
    ["2606:4700::1", 443],
  ] as const)
    assert.notEqual(policy.verdict(address, port), null, address);
});

test("EGRESS_DENY comes before everything, by range, address and name", () => {
  const deny = "1.1.0.0/16,8.8.8.8,Internal.Example.com,.bücher.example,last.test..,2606:4700::/32";
  const policy = createEgressPolicy({ deny, allow: "1.1.1.1/32:443", ipv6: true });
  for (const address of ["1.1.1.1", "1.1.255.255", "8.8.8.8", "2606:4700::1"])
    assert.match(policy.verdict(address, 443) ?? "", /^denied by EGRESS_DENY/, address);
  for (const address of ["1.2.0.0", "8.8.8.9", "2606:4701::1"])
    assert.equal(policy.verdict(address, 443), null, address);
  const below = ["internal.example.com", "a.b.internal.example.com"];
  for (const name of [...below, "internal.example.com.", "internal.example.com...", "last.test"])
    assert.notEqual(policy.nameVerdict(name), null, name);
  assert.notEqual(policy.nameVerdict("xn--bcher-kva.example"), null);
  for (const name of ["example.com", "notinternal.example.com", "internal.example.com.evil.org"])
    assert.equal(policy.nameVerdict(name), null, name);
});

test("a setting that cannot be read is refused at start, by its name and place", () => {
  const wrong = [
    { allow: "127.0.0.1:*" },
    { allow: "127.0.0.1/8:*" },
    { allow: "127.0.0.0/33:*" },
    { allow: "127.0.0.0/8" },
    { allow: "127.0.0.0/8:0" },
    { allow: "127.0.0.0/8:65536" },
    { allow: "*:80" },
    { deny: "10.0.0.0/8/8" },
    { deny: "0x7f000001" },
    { deny: "http://example.com" },
    { deny: "example.com:80" },
    { deny: "..." },
    { deny: "10.0.0.1/8" },
  ];
  for (const settings of wrong)
    assert.throws(
      () => createEgressPolicy(settings),
      (error) => error instanceof ConfigurationInvalid && /EGRESS_\w+: entry 1/.test(error.message),
      JSON.stringify(settings),
    );
  assert.throws(() => createEgressPolicy({ deny: "10.0.0.0/8,?" }), /EGRESS_DENY: entry 2/);
});

/**
 * The oracle shares nothing with the code: prefixes are strings of binary digits, addresses are written by it, not read, and
 * the lists are of its own. Each entry is [prefix in binary, how many bits].
 */
const oracle = (() => {
  const v4 = (a: number, b: number, c: number, length: number) =>
    [a, b, c, 0]
      .map((n) => n.toString(2).padStart(8, "0"))
      .join("")
      .slice(0, length);
  const v6 = (text: string, length: number) =>
    text
      .split(" ")
      .map((n) => Number.parseInt(n, 16).toString(2).padStart(16, "0"))
      .join("")
      .padEnd(128, "0")
      .slice(0, length);
  const ipv4 = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 31, 196, 24),
    v4(192, 52, 193, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(192, 175, 48, 24),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    "1110",
    "1111",
  ];
  const ipv6 = [
    v6("2001 0", 23),
    v6("2001 db8", 32),
    v6("2002", 16),
    v6("2620 4f 8000", 48),
    v6("3fff 0", 20),
  ];
  const isatap = [v6("0 5efe", 32), v6("200 5efe", 32)];
  /** Prefixes whose neighbours are worth a look although nothing of theirs is allowed. */
  const ipv6Outside = [
    v6("0", 128),
    v6("0 0 0 0 0 ffff", 96),
    v6("64 ff9b", 96),
    v6("64 ff9b 1", 48),
    v6("100", 64),
    v6("100 0 0 1", 64),
    "001",
    v6("5f00", 16),
    v6("fc00", 7),
    v6("fe80", 10),
    v6("fec0", 10),
    v6("ff00", 8),
  ];
  const allows = (bits: string): boolean =>
    bits.length === 32
      ? !ipv4.some((prefix) => bits.startsWith(prefix))
      : bits.startsWith("001") &&
        !ipv6.some((prefix) => bits.startsWith(prefix)) &&
        !isatap.includes(bits.slice(64, 96));
  return { ipv4, ipv6: [...ipv6, ...ipv6Outside], isatap, allows };
})();

/** A 32-bit generator with a seed, so that a difference can be made again. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
}

function write(bits: string, random: () => number): string {
  if (bits.length === 32)
    return (bits.match(/.{8}/g) ?? []).map((part) => Number.parseInt(part, 2)).join(".");
  const groups = (bits.match(/.{16}/g) ?? []).map((part) => Number.parseInt(part, 2).toString(16));
  const style = random() % 3;
  if (style === 0) return groups.map((group) => group.padStart(4, "0").toUpperCase()).join(":");
  if (style === 1) return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
  const [high = "0", low = "0"] = groups.slice(6).map((group) => group.padStart(4, "0"));
  const tail = [high.slice(0, 2), high.slice(2), low.slice(0, 2), low.slice(2)];
  return `${groups.slice(0, 6).join(":")}:${tail.map((hex) => Number.parseInt(hex, 16)).join(".")}`;
}

const plus = (bits: string, by: bigint) =>
  BigInt.asUintN(bits.length, BigInt(`0b${bits}`) + by)
    .toString(2)
    .padStart(bits.length, "0");

function* boundaries(): Generator<string> {
  for (const [prefixes, length] of [
    [oracle.ipv4, 32],
    [oracle.ipv6, 128],
  ] as const)
    for (const prefix of prefixes)
      for (const edge of [prefix.padEnd(length, "0"), prefix.padEnd(length, "1")])
        for (const by of [-2n, -1n, 0n, 1n, 2n]) yield plus(edge, by);
}

test(`${ADDRESSES} boundary and random addresses: no difference from an independent oracle`, () => {
  const seed = Number(process.env.EGRESS_ORACLE_SEED ?? 20_261_129);
  const random = seeded(seed);
  const bitsOf = (length: number) => {
    let bits = "";
    while (bits.length < length) bits += (random() >>> 8).toString(2).padStart(24, "0");
    return bits.slice(0, length);
  };
  const all = [...boundaries()];
  while (all.length < ADDRESSES) {
    const kind = random() >>> 29;
    const prefixes = kind % 2 === 0 ? oracle.ipv4 : oracle.ipv6;
    const length = kind % 2 === 0 ? 32 : 128;
    const near = prefixes[(random() >>> 8) % prefixes.length] ?? "";
    if (kind < 2) all.push(bitsOf(length));
    else if (kind < 4) all.push(`001${bitsOf(125)}`);
    else if (kind === 4) all.push(`001${bitsOf(61)}${oracle.isatap[random() >>> 31]}${bitsOf(32)}`);
    else if (kind === 5) all.push((near + bitsOf(length)).slice(0, length));
    else {
      // One bit of a prefix turned: the nearest that is outside of it.
      const at = (random() >>> 8) % Math.max(1, near.length);
      const turned = near.slice(0, at) + (near[at] === "1" ? "0" : "1") + near.slice(at + 1);
      all.push((turned + bitsOf(length)).slice(0, length));
    }
  }
  let [allowed, refused] = [0, 0];
  for (const bits of all) {
    const text = write(bits, random);
    const expected = oracle.allows(bits);
    const actual = both.verdict(text, 443) === null;
    assert.equal(actual, expected, `${text}, seed ${seed}`);
    assert.equal(standard.verdict(text, 443) === null, expected && bits.length === 32, text);
    if (actual) allowed++;
    else refused++;
  }
  assert.ok(Math.min(allowed, refused) > ADDRESSES / 10, `${allowed} allowed, ${refused} refused`);
});

test("a range is of its family: numbers of the other one are not in it", () => {
  const policy = createEgressPolicy({ allow: "127.0.0.0/8:*,::/96:*", ipv6: true });
  assert.equal(policy.verdict("127.0.0.1", 1), null);
  assert.equal(policy.verdict("::7f00:1", 1), null);
  const own = createEgressPolicy({ allow: "127.0.0.0/8:*", ipv6: true });
  assert.match(own.verdict("::7f00:1", 1) ?? "", /outside of IPv6 global unicast/);
  const other = createEgressPolicy({ allow: "::/96:*", ipv6: true });
  assert.match(other.verdict("127.0.0.1", 1) ?? "", /loopback/);
});
