import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeBase32, encodeBase32 } from "./base32.ts";

const bytes = fc.uint8Array({ minLength: 0, maxLength: 40 });

test("known texts: zero bits go in front, lower case, no padding", () => {
  assert.equal(encodeBase32(Uint8Array.of()), "");
  assert.equal(encodeBase32(Uint8Array.of(0)), "00");
  assert.equal(encodeBase32(Uint8Array.of(255)), "7z");
  assert.equal(encodeBase32(Uint8Array.of(1, 0)), "0080");
  assert.equal(encodeBase32(Uint8Array.of(255, 255, 255, 255, 255)), "zzzzzzzz");
  assert.equal(encodeBase32(new Uint8Array(16).fill(255)), `7${"z".repeat(25)}`);
  assert.equal(encodeBase32(new Uint8Array(24).fill(255)), `3${"z".repeat(38)}`);
});

test("what was encoded is decoded to the same bytes", () => {
  fc.assert(
    fc.property(bytes, (given) => {
      const text = encodeBase32(given);
      assert.match(text, /^[0-9a-hjkmnp-tv-z]*$/);
      assert.deepEqual(decodeBase32(text, given.length), given);
    }),
  );
});

test("text sorts as its bytes do", () => {
  const pair = fc.integer({ min: 1, max: 24 }).chain((length) => {
    const one = fc.uint8Array({ minLength: length, maxLength: length });
    return fc.tuple(one, one);
  });
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const texts = Math.sign(compare(encodeBase32(a), encodeBase32(b)));
      assert.equal(texts, Math.sign(Buffer.compare(a, b)));
    }),
  );
});

test("no text but the encoded one decodes: other lengths, letters, cases and front bits are refused", () => {
  const text = encodeBase32(Uint8Array.of(1, 2, 3));
  assert.equal(text.length, 5);
  const others = [
    "",
    text.slice(1),
    `${text}0`,
    `0${text}`,
    text.toUpperCase().replace(/[0-9]/g, "A"),
    "0000i",
    "0000l",
    "0000o",
    "0000u",
    "0000-",
    "0000 ",
    "0000é",
    "000😀",
    "g0000",
    "zzzzz",
  ];
  for (const other of others) assert.equal(decodeBase32(other, 3), null, other);
  assert.deepEqual(decodeBase32("fzzzz", 3), Uint8Array.of(255, 255, 255));
  fc.assert(
    fc.property(fc.string({ maxLength: 8, unit: "binary" }), (any) => {
      const decoded = decodeBase32(any, 3);
      if (decoded !== null) assert.equal(encodeBase32(decoded), any);
    }),
  );
});

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
