import assert from "node:assert/strict";
import { test } from "node:test";
import { originOf } from "./origin.ts";

test("an origin is the same however a URL writes it, and another with any other scheme, host or port", () => {
  const same = [
    "https://api.example.com",
    "HTTPS://API.Example.com:443/x?y=1#z",
    "https://api.example.com./",
  ];
  for (const url of same) assert.equal(originOf(url), "https://api.example.com:443", url);
  const others = [
    "http://api.example.com:443",
    "https://api.example.com:8443",
    "https://example.com",
    "https://api.example.com.evil.example",
  ];
  assert.equal(new Set([...same, ...others].map(originOf)).size, 1 + others.length);
});

test("what HTTP does not call has none; a name may be longer than keys of limits are", () => {
  for (const url of ["ftp://example.com", "nothing", "", "http://./"])
    assert.equal(originOf(url), null, url);
  const host = "a".repeat(1_000);
  assert.equal(originOf(`https://${host}/`), `https://${host}:443`);
});
