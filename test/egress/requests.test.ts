/** What an answer or a request says changes nothing about where calls go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf } from "./call.ts";
import { PUBLIC, testOnInternet } from "./internet.ts";

testOnInternet(
  "requests and answers lead nowhere else",
  import.meta.filename,
  ({ arrivals, arrivedAt, open }) => {
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
  },
);
