import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { TimedCache } from "./timed-cache.ts";

function openCache() {
  const clock = new ManualClock();
  const bounds = { knownMs: 1_000, knownMsMax: 9_000, noneMs: 100, refusedMs: 1_000, sizeMax: 2 };
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

test("what cannot be had now is asked for once a second, however many want it, and what was known serves meanwhile", async () => {
  const { clock, cache, get } = openCache();
  await get("known");
  await clock.advance(1_000);
  let asked = 0;
  const refuse = async () => {
    asked++;
    throw new SecretsUnavailable("KMS does not serve: ThrottlingException");
  };
  for (const _ of [1, 2, 3]) {
    await assert.rejects(cache.get("new", refuse), SecretsUnavailable);
    assert.equal(await cache.get("known", refuse), "known");
    await clock.advance(300);
  }
  assert.equal(asked, 2, "one for each of the two");
  await clock.advance(100);
  assert.equal(await get("new"), "new");
});

test("an answer that fails otherwise is asked for again at once", async () => {
  const { cache, get } = openCache();
  const fail = () => Promise.reject(new StoreUnavailable("MySQL is away"));
  await assert.rejects(cache.get("new", fail), StoreUnavailable);
  assert.equal(await get("new"), "new");
});

test("of more values than it has room for the oldest goes first", async () => {
  const { asked, get } = openCache();
  for (const key of ["a", "b", "c", "c", "b", "a"]) await get(key);
  assert.deepEqual(asked, ["a", "b", "c", "a"]);
});
