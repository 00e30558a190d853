import assert from "node:assert/strict";
import { test } from "node:test";
import { OutcomeUnknown, StoreRefused, StoreUnavailable } from "./errors.ts";
import { GroupSize } from "./group-size.ts";

/** Writes all that there may be, in a database that ends so many rows by the deadline; returns the groups that it ended. */
async function writeGroups(size: GroupSize, endsRows: number, times: number): Promise<number[]> {
  const ended: number[] = [];
  for (let n = 0; n < times; n++) {
    const rows = size.rowsMax;
    await size
      .learn(rows, async () => {
        if (rows > endsRows) throw new StoreUnavailable("did not end in time");
        ended.push(rows);
      })
      .catch(() => {});
  }
  return ended;
}

test("a database that ends only some rows in time gets most of those that it could do, and all again when it is quick", async () => {
  for (let endsRows = 1; endsRows <= 600; endsRows++) {
    const size = new GroupSize(500);
    const ended = await writeGroups(size, endsRows, 100);
    const rows = ended.reduce((sum, each) => sum + each, 0);
    // A step is 20 rows: of a few at a time every second try is too large.
    const least = (endsRows >= 100 ? 48 : 20) * Math.min(endsRows, 500);
    assert.ok(rows >= least, `${rows} rows in groups of ${endsRows} at most`);
    await writeGroups(size, 500, 40);
    assert.equal(size.rowsMax, 500);
  }
});

test("long after a hiccup a few groups are enough to be all again; a database that is slow still costs one more try", async () => {
  for (const [endsRows, groups] of [
    [500, [1, 2, 4, 8, 16, 32, 64, 128, 256, 500]],
    [60, [1, 2, 4, 8, 16, 32, 32, 52]],
  ] as const) {
    const size = new GroupSize(500);
    await writeGroups(size, 0, 10);
    for (let n = 0; n < 30; n++)
      await size.learn(
        1,
        async () => 0,
        (done) => done,
      );
    assert.equal(size.rowsMax, 1);
    assert.deepEqual((await writeGroups(size, endsRows, 10)).slice(0, groups.length), groups);
  }
});

test("it is never less than asked for, nor more; a group that was not full tells nothing", async () => {
  const size = new GroupSize(1_000, 10);
  await writeGroups(size, 0, 30);
  assert.equal(size.rowsMax, 10);
  await size.learn(
    10,
    async () => 9,
    (done) => done,
  );
  assert.equal(size.rowsMax, 10);
  await size.learn(10, async () => {});
  assert.equal(size.rowsMax, 20);
  await writeGroups(size, 1_000, 50);
  assert.equal(size.rowsMax, 1_000);
});

test("only what was not done in time makes it smaller: not a refusal, not a COMMIT that was not answered, not an error of ours", async () => {
  const size = new GroupSize(1_000);
  for (const error of [new StoreRefused("no"), new OutcomeUnknown("cut"), new TypeError("ours")])
    await assert.rejects(
      size.learn(1_000, async () => {
        throw error;
      }),
      error,
    );
  assert.equal(size.rowsMax, 1_000);
});
