import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  effectiveLimit,
  endpointKey,
  endpointOf,
  LIMIT_KEY_LENGTH_MAX,
  type LimitKey,
  slotsWithin,
  tenantKey,
  tenantKeyOf,
  tenantOf,
} from "./call-limit.ts";
import type { TenantId } from "./ids.ts";

const ACME = "acme" as TenantId;

test("an endpoint is scheme, host and port: lower case, the port written out, IDN as punycode", () => {
  const same = [
    "https://api.example.com",
    "HTTPS://API.Example.com:443/x?y=1#z",
    "https://api.example.com/",
    "https://api.example.com./",
    "https://api.example.com..:443/",
  ];
  for (const url of same)
    assert.equal(endpointKey(ACME, url), "acme|https://api.example.com:443", url);
  assert.equal(endpointKey(ACME, "http://api.example.com"), "acme|http://api.example.com:80");
  assert.equal(
    endpointKey(ACME, "https://bücher.example:8443"),
    "acme|https://xn--bcher-kva.example:8443",
  );
  assert.equal(endpointKey(ACME, "http://[::1]:9/"), "acme|http://[::1]:9");
  assert.equal(endpointKey(ACME, "http://127.1/"), "acme|http://127.0.0.1:80");
});

test("what is no endpoint, or too long for a key, has none", () => {
  for (const url of [
    "ftp://example.com",
    "mailto:a@b",
    "nothing",
    "",
    "http://./",
    "http://...:8080",
  ])
    assert.equal(endpointKey(ACME, url), null, url);
  const host = (length: number) => `https://${"a".repeat(length)}`;
  const longest = LIMIT_KEY_LENGTH_MAX - "acme|https://:443".length;
  assert.equal(endpointKey(ACME, host(longest))?.length, LIMIT_KEY_LENGTH_MAX);
  assert.equal(endpointKey(ACME, host(longest + 1)), null);
});

test("a key says whose it is, and its endpoint as it is written", () => {
  const property = fc.property(
    fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,63}$/),
    fc.webUrl({ validSchemes: ["http", "https"] }),
    (id, url) => {
      const tenantId = id as TenantId;
      const own = tenantKey(tenantId);
      assert.deepEqual([tenantOf(own), tenantKeyOf(own), endpointOf(own)], [tenantId, own, null]);
      const key = endpointKey(tenantId, url);
      if (key === null) return;
      assert.match(key, /^[\x21-\x7e]+$/);
      assert.deepEqual([tenantOf(key), tenantKeyOf(key)], [tenantId, own]);
      const endpoint = endpointOf(key);
      assert.equal(endpoint, new URL(url).origin);
      assert.equal(endpointKey(tenantId, endpoint ?? ""), key);
      assert.notEqual(endpointKey(`${id}0` as TenantId, url), key);
    },
  );
  fc.assert(property);
});

test("the smaller of what tenant and operator have set holds", () => {
  const none = { concurrency: null, perSecond: null, maxConcurrency: null, maxPerSecond: null };
  assert.deepEqual(effectiveLimit(none), { concurrency: null, perSecond: null });
  const limit = { concurrency: 5, perSecond: null, maxConcurrency: 3, maxPerSecond: 0.5 };
  assert.deepEqual(effectiveLimit(limit), { concurrency: 3, perSecond: 0.5 });
  assert.deepEqual(effectiveLimit({ ...limit, concurrency: 2, perSecond: 0.25 }), {
    concurrency: 2,
    perSecond: 0.25,
  });
});

test("slots: what is asked for, what is free, never less than none", () => {
  const limit = { concurrency: 5, perSecond: null };
  assert.equal(slotsWithin(limit, 0, 2), 2);
  assert.equal(slotsWithin(limit, 4, 2), 1);
  assert.equal(slotsWithin(limit, 9, 2), 0);
  assert.equal(slotsWithin({ concurrency: null, perSecond: 1 }, 9, 2), 2);
  assert.equal("acme" as LimitKey, tenantKey(ACME));
});
