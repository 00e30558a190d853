import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#test/support/manual-clock.ts";
import { TimedCache } from "./timed-cache.ts";

function openCache() {
  const clock = new ManualClock();
  const bounds = { knownMs: 1_000, knownMsMax: 9_000, noneMs: 100, sizeMax: 2 };
  const cache = new TimedCache<string>({ clock, ...bounds });
  const asked: string[] = [];
  const get = (key: string, value: string | null = key) =>
    cache.get(key, async () => {
      asked.push(key);
      return value;
    });
  return { clock, cache, asked, get };
}

test("a value is kept for longer than that there is none", async () => {
  const { clock, asked, get } = openCache();
  await Promise.all([get("a"), get("none", null)]);
  await clock.advance(99);
  assert.deepEqual(await Promise.all([get("a"), get("none")]), ["a", null]);
  await clock.advance(1);
  assert.deepEqual(await Promise.all([get("a"), get("none", "there")]), ["a", "there"]);
  await clock.advance(900);
  await get("a");
  assert.deepEqual(asked, ["a", "none", "none", "a"]);
});

test("that there was none is no answer while it takes long to ask again", async () => {
  const { clock, cache, get } = openCache();
  assert.equal(await get("none", null), null);
  await clock.advance(100);
  const { promise, resolve } = Promise.withResolvers<string>();
  const asked = cache.get("none", () => promise);
  await clock.advance(2_000);
  resolve("there");
  assert.equal(await asked, "there");
});

test("of more values than it has room for the oldest goes first", async () => {
  const { asked, get } = openCache();
  for (const key of ["a", "b", "c", "c", "b", "a"]) await get(key);
  assert.deepEqual(asked, ["a", "b", "c", "a"]);
});
