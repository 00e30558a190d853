import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FailedGroups } from "./failed-groups.ts";

/** Tries until all that can be written is, or `times` are over; returns what was written, and how many writes failed. */
function writeAll(groups: FailedGroups<number>, poison: ReadonlySet<number>, times: number) {
  const written: number[] = [];
  let failures = 0;
  for (let n = 0; n < times && groups.count > poison.size; n++) {
    const group = groups.take(1_000);
    if (group.some((each) => poison.has(each))) {
      failures++;
      groups.failed(group);
    } else {
      groups.written();
      written.push(...group);
    }
  }
  return { written, failures };
}

test("one of a thousand that is never taken stands alone after ten failures more, wherever it stood", () => {
  for (const poison of [0, 1, 499, 500, 998, 999]) {
    const groups = new FailedGroups<number>();
    groups.failed(Array.from({ length: 1_000 }, (_, n) => n));
    const { written, failures } = writeAll(groups, new Set([poison]), 100);
    assert.equal(written.length, 999);
    assert.ok(failures <= 10, `${failures} failures`);
    assert.ok(groups.isAlone || groups.count === 1);
  }
});

test("whatever is never taken, all else is written once, and nothing is lost", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(sizes, fc.array(fc.nat(300), { maxLength: 40 }), (lengths, never) => {
      const groups = new FailedGroups<number>();
      let made = 0;
      for (const length of lengths) groups.failed(Array.from({ length }, () => made++));
      const poison = new Set(never.filter((each) => each < made));
      const { written } = writeAll(groups, poison, 2_000);
      const good = Array.from({ length: made }, (_, n) => n).filter((n) => !poison.has(n));
      assert.deepEqual(
        written.sort((a, b) => a - b),
        good,
      );
      assert.equal(groups.count, poison.size);
    }),
  );
});

test("what has failed alone comes after all others, in turn", () => {
  const groups = new FailedGroups<number>();
  for (const each of [1, 2]) groups.failed([each]);
  groups.failed([3, 4]);
  const taken = [3, 4, 1, 2].map((expected) => {
    const group = groups.take(10);
    assert.deepEqual(group, [expected]);
    return group;
  });
  assert.equal(groups.count, 0);
  groups.failed(taken[0] ?? []);
  assert.equal(groups.count, 1);
  groups.clear();
  assert.deepEqual(groups.take(10), []);
});

test("a database that does nothing for an hour leaves groups, not single ones", () => {
  const groups = new FailedGroups<number>();
  for (let n = 0; n < 10; n++) groups.failed(Array.from({ length: 1_000 }, () => n));
  for (let n = 0; n < 4_000; n++) groups.failed(groups.take(1_000));
  assert.equal(groups.isDatabaseAway, true);
  assert.equal(groups.count, 10_000);
  let writes = 0;
  for (; groups.count > 0; writes++) {
    groups.take(1_000);
    groups.written();
  }
  assert.ok(writes < 80, `${writes} writes`);
});
