/** Pages end where Lambda would refuse the answer, which it takes as JSON text inside of JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ANSWER_BYTES_MAX, PAGE_BYTES_MAX } from "#core/domain/limits.ts";
import { writePage } from "./page.ts";

/** As a function answers it. */
const answerBytes = (body: string) =>
  Buffer.byteLength(JSON.stringify({ statusCode: 200, headers: {}, body }));

test("75 jobs whose 30 attempts hold answers of JSON in JSON: the page ends before the answer is too large", () => {
  const part = JSON.stringify(JSON.stringify({ a: ["b", "c", "d"], e: '"quoted" \\' }));
  const attempts = Array.from({ length: 30 }, () => part.repeat(Math.ceil(1_000 / part.length)));
  const items = Array.from({ length: 75 }, (_, id) => ({ id, attempts }));
  const whole = JSON.stringify(items);
  assert.ok(whole.length < PAGE_BYTES_MAX && answerBytes(whole) > PAGE_BYTES_MAX);
  const text = writePage({ items, more: false }, (item) => item, String);
  assert.ok(answerBytes(text) <= ANSWER_BYTES_MAX);
  assert.ok(JSON.parse(text).items.length < 75);
  assert.notEqual(JSON.parse(text).nextCursor, null);
});

test("whatever is in it, a page of several items keeps its bound as an answer, and no item is left out", () => {
  const bytesMax = 300;
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom('"', "\\", "\0") }),
  );
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 30 }), (all) => {
      const items = all.map((one) => one.toWellFormed().slice(0, 10));
      let from = 0;
      while (from < items.length) {
        const page = { items: items.slice(from), more: false };
        const written = writePage(
          page,
          (item) => item,
          () => "next",
          bytesMax,
        );
        const { items: shown, nextCursor } = JSON.parse(written);
        assert.deepEqual(shown, items.slice(from, from + shown.length));
        assert.equal(nextCursor, from + shown.length < items.length ? "next" : null);
        const frame = answerBytes('{"items":[],"nextCursor":"next"}');
        if (shown.length > 1) assert.ok(answerBytes(written) <= bytesMax + frame);
        from += shown.length;
      }
    }),
  );
});

test("an item that is larger than a page is a page of its own", () => {
  for (const items of [["long".repeat(100)], ["long".repeat(100), "b"]]) {
    const page = { items, more: false };
    const text = writePage(
      page,
      (item) => item,
      () => "next",
      300,
    );
    const nextCursor = items.length > 1 ? "next" : null;
    assert.deepEqual(JSON.parse(text), { items: items.slice(0, 1), nextCursor });
  }
});
