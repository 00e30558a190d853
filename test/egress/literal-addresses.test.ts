/** Addresses written into the URL, in every notation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf } from "./call.ts";
import { PUBLIC, PUBLIC_2, PUBLIC_6, testOnInternet } from "./internet.ts";

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

testOnInternet(
  "literal addresses: public ones are reached, others refused",
  import.meta.filename,
  ({ arrivals, arrivedAt, open, refused }) => {
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
  },
);
