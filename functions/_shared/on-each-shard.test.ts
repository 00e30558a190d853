import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { endOf, onEachShard } from "./on-each-shard.ts";

const shards = {
  all: () => ["a", "b", "c"].map((name) => ({ name }) as Shard),
} as unknown as Shards;

test("every shard's work is waited for, also where another's fails; the failure is told without the error's own words", async () => {
  const clock = new ManualClock();
  const done: string[] = [];
  const run = onEachShard(shards, async ({ name }) => {
    if (name === "a") throw new StoreUnavailable("connect to 10.0.0.7", { cause: "password" });
    await clock.sleep(1_000);
    done.push(name);
  });
  const failing = assert.rejects(run, (error: Error) => {
    assert.match(error.message, /store-unavailable/);
    assert.deepEqual(done, ["b", "c"]);
    return true;
  });
  await clock.advance(1_000);
  await failing;
});

test("where all go well nothing is thrown; an invocation's end lies before its time is out", async () => {
  await onEachShard(shards, async () => {});
  const clock = new ManualClock();
  await clock.advance(5_000);
  assert.equal(endOf({ getRemainingTimeInMillis: () => 60_000 }, clock, 2_000), 63_000);
});
