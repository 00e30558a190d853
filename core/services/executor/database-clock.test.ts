import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock } from "#test/support/manual-clock.ts";
import { DatabaseClock } from "./database-clock.ts";

test("is never ahead of the database, and behind by the smallest round trip at most", () => {
  const poll = fc.record({
    outMs: fc.double({ min: 0.01, max: 50, noNaN: true }),
    backMs: fc.double({ min: 0.01, max: 50, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(poll, { minLength: 1, maxLength: 40 }), (polls) => {
      const clock = new ManualClock();
      const database = new DatabaseClock(clock);
      const epochMs = 1_770_000_000_000;
      let atMs = 0;
      for (const { outMs, backMs } of polls) {
        // The database's clock is epoch + monotonic, read when the statement arrives, in whole ms.
        database.addSample(atMs, atMs + outMs + backMs, Math.floor(epochMs + atMs + outMs));
        atMs += 100;
      }
      const best = Math.min(...polls.slice(-32).map(({ outMs, backMs }) => outMs + backMs));
      const behindMs = epochMs - database.nowMs();
      assert.ok(behindMs >= -0.001, `ahead by ${-behindMs} ms`);
      assert.ok(behindMs <= best + 1.001, `behind by ${behindMs} ms, best round trip ${best}`);
    }),
  );
});

test("follows a clock that is stepped, once the older polls are forgotten", () => {
  const database = new DatabaseClock(new ManualClock());
  database.addSample(0, 0.1, 1_000_000);
  for (let i = 1; i <= 32; i++) database.addSample(i, i + 5, 2_000_000 + i);
  assert.ok(database.nowMs() > 1_999_000);
});
