import assert from "node:assert/strict";
import { test } from "node:test";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { withDeadline } from "./deadline.ts";

test("what is not done by its deadline: of a write nobody knows what came of it, a read can be asked again", async () => {
  for (const [kind, told] of [
    ["write", OutcomeUnknown],
    ["read", StoreUnavailable],
  ] as const) {
    const clock = new ManualClock();
    const work = clock.sleep(2_000).then(() => "late");
    const waiting = assert.rejects(withDeadline(clock, 1_000, kind, work), told);
    await clock.advance(2_000);
    await waiting;
  }
});

test("what is done in time is answered, or fails as it does", async () => {
  const clock = new ManualClock();
  assert.equal(await withDeadline(clock, 1_000, "write", Promise.resolve("made")), "made");
  const refused = new Error("refused");
  await assert.rejects(withDeadline(clock, 1_000, "write", Promise.reject(refused)), refused);
  await clock.advance(2_000);
});
