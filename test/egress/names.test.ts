/** Names, by what their answers hold, also when those change from one to the next. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf, type TestCaller } from "./call.ts";
import { PUBLIC, testOnInternet } from "./internet.ts";

testOnInternet(
  "names lead to public addresses and nowhere else",
  import.meta.filename,
  ({ arrivals, arrivedAt, asked, open, refused }) => {
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
      const before = asked("public.test");
      assert.equal(endOf(await own.call("http://public.test/")), "destination-not-allowed");
      for (const name of ["public.test.", "public.test..", "public.test..."])
        assert.equal(endOf(await own.call(`http://${name}/`)), "destination-not-allowed", name);
      assert.equal(asked("public.test"), before);
      assert.equal(endOf(await own.call("http://a.test/")), 200);
      await own.caller.close();
    });

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

    test("a TLS session takes nobody past the guard: its name is asked again, and where it has moved inside refused", async () => {
      const own = open();
      const start = arrivals.length;
      const call = async () => endOf(await own.call("https://moves.test/close"));
      assert.deepEqual([await call(), await call()], [200, 200]);
      assert.deepEqual(
        arrivals.slice(start).map(({ resumed }) => resumed),
        [false, true],
      );
      assert.equal(await call(), "destination-not-allowed");
      assert.match(own.refusals[0]?.message ?? "", /^answer 127.0.0.1: loopback/);
      assert.equal(asked("moves.test"), 3);
      assert.deepEqual(arrivedAt(start), [PUBLIC, PUBLIC]);
      await own.caller.close();
    });

    test("a warm connection stays with the address it was checked for; after it, the name is refused", async () => {
      const own = open();
      const start = arrivals.length;
      assert.equal(endOf(await own.call("http://warm.test/")), 200);
      assert.equal(asked("warm.test"), 1);
      const warm = await own.call("http://warm.test/close");
      assert.equal(endOf(warm), 200);
      assert.partialDeepStrictEqual(warm.timings, { dnsMs: null, connectMs: null });
      assert.equal(asked("warm.test"), 1);
      assert.deepEqual(arrivedAt(start), [PUBLIC]);
      assert.equal(endOf(await own.call("http://warm.test/")), "destination-not-allowed");
      await own.caller.close();
    });
  },
);
