/** What is kept of answers that repeat a secret: written as everyday servers write texts, whole or cut at any byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hideSecrets } from "./hide-secrets.ts";

type Writing = (text: string) => string;

const json: Writing = (text) => JSON.stringify(text).slice(1, -1);
const units = (text: string, these: RegExp, written: (unit: string) => string) =>
  text.replace(these, (one) => one.split("").map(written).join(""));
const hex = (unit: string, digits: number) => unit.charCodeAt(0).toString(16).padStart(digits, "0");

const WRITINGS: Readonly<Record<string, Writing>> = {
  plain: (text) => text,
  json,
  "PHP's json_encode": (text) => json(text).replaceAll("/", "\\/"),
  "json, ASCII only": (text) => units(json(text), /[^ -~]/g, (unit) => `\\u${hex(unit, 4)}`),
  ".NET's json": (text) =>
    units(json(text), /[+<>&'`]|[^ -~]/g, (unit) => `\\u${hex(unit, 4).toUpperCase()}`),
  "Go's json": (text) => units(json(text), /[<>&]/g, (unit) => `\\u${hex(unit, 4)}`),
  JavaScript: (text) => units(json(text), /[<>&'/]/g, (unit) => `\\x${hex(unit, 2)}`),
  "in a URL": encodeURIComponent,
  "in a URL, lower case": (text) =>
    encodeURIComponent(text).replace(/%../g, (one) => one.toLowerCase()),
  "a form's field": (text) => new URLSearchParams({ a: text }).toString().slice(2),
  html: (text) =>
    text
      .replace(/&/g, "&amp;")
      .replace(/</g, "&lt;")
      .replace(/>/g, "&gt;")
      .replace(/"/g, "&quot;")
      .replace(/'/g, "&#039;"),
  "html, in numbers": (text) =>
    text.replace(/[^\w ]/gu, (one) => `&#x${(one.codePointAt(0) ?? 0).toString(16)};`),
  "html, in decimal numbers": (text) =>
    text.replace(/[^\w ]/gu, (one) => `&#${one.codePointAt(0)};`),
};

/** What one notation or another escapes … */
const ESCAPED = [..."gXYZ-/+=.~\"'&<>%,;:# éßя€😀", "\\g"];
/** … and what looks as if it was. */
const AS_IF_ESCAPED = ["%41", "%2F", "0", "a", "\\", "&amp;", "&#43;", "\\n", "\\u0041", "%C3%A9"];

/** Secrets of these pieces, long enough to be no accident, and how they are written. */
const casesOf = (pieces: readonly string[]) =>
  fc.record({
    secret: fc
      .array(fc.constantFrom(...pieces), { minLength: 4, maxLength: 24 })
      .map((these) => `k${these.join("")}z`),
    inner: fc.constantFrom(...Object.keys(WRITINGS)),
    outer: fc.constantFrom("plain", "plain", ...Object.keys(WRITINGS)),
  });

function written({ inner, outer }: { inner: string; outer: string }, text: string): string {
  return WRITINGS[outer]?.(WRITINGS[inner]?.(text) ?? "") ?? "";
}

test("a secret that is repeated is hidden, whatever it is written in, and no more than it", () => {
  fc.assert(
    fc.property(casesOf([...ESCAPED, ...AS_IF_ESCAPED]), (one) => {
      const { secret } = one;
      const text = (repeated: string) => `{"error": "no such key: <${repeated}>, 404"}`;
      assert.equal(hideSecrets(text(written(one, secret)), [secret]), text("[secret]"));
    }),
    { numRuns: 1_000 },
  );
});

test("nor is the beginning of one left where the answer was cut, be it in a character or in an escape", () => {
  fc.assert(
    fc.property(casesOf(ESCAPED), fc.nat(), (one, nth) => {
      const { secret } = one;
      const before = "no such key: ";
      const whole = Buffer.from(before + written(one, secret));
      const bytes = before.length + 1 + (nth % (whole.length - before.length));
      const kept = hideSecrets(whole.subarray(0, bytes).toString(), [secret]);
      if (kept === `${before}[secret]`) return;
      const shortest = Buffer.from(written(one, Array.from(secret).slice(0, 5).join(""))).length;
      assert.ok(bytes < before.length + shortest, `${kept} of ${whole}, ${bytes} bytes`);
    }),
    { numRuns: 1_000 },
  );
});

test("without its scheme or name, its padding or blanks around it a secret is hidden too", () => {
  for (const [secret, text, kept] of [
    ["Bearer sk_live_0123", "Invalid key sk_live_0123!", "Invalid key [secret]!"],
    ["Bearer sk_live_0123", "Invalid key sk_liv", "Invalid key [secret]"],
    ["sid=abcdefgh; user=ada", "session abcdefgh of ada", "session [secret] of ada"],
    ["AbC+dEf/GhI=", '{"token":"AbC+dEf\\/GhI"}', '{"token":"[secret]"}'],
    [" hunter2 ", "bad key hunter2.", "bad key [secret]."],
    ["Token abc", "Token expired, abc", "Token expired, abc"],
  ] as const)
    assert.equal(hideSecrets(text, [secret]), kept);
});

test("bytes of a header in Latin-1, which are no UTF-8, are hidden with the rest of it", () => {
  const secret = "clé-0123456789-ß";
  for (const text of [`bad key ${secret}!`, `bad key ${encodeURIComponent(secret)}!`]) {
    const read = Buffer.from(text, "latin1").toString("utf8");
    assert.equal(hideSecrets(read, [secret]), "bad key [secret]!");
  }
  const escaped = "bad key cl%E9-0123456789-%DF!";
  assert.equal(hideSecrets(escaped, [secret]), "bad key [secret]!");
});

test("several secrets, of which one contains another or begins where another ends", () => {
  const sent = ["hunter2-hunter2", "hunter2-hunter2-long", "long-and-more", "abc"];
  const kept = (text: string) => hideSecrets(text, sent);
  assert.equal(kept("a hunter2-hunter2 b"), "a [secret] b");
  assert.equal(kept("a hunter2-hunter2-long b"), "a [secret] b");
  assert.equal(kept("a hunter2-hunter2-long-and-more b abc"), "a [secret] b abc");
  assert.equal(kept("long-and-morelong-and-more"), "[secret][secret]");
});

test("what repeats no secret is kept as it is", () => {
  const sent = ["Bearer 0123456789abcdef", "hunter2 & more", "päss%41wörd"];
  for (const text of [
    "",
    '{"a":"\\u00e4\\/\\"","b":"50%"}',
    "a&b&amp;c+d%20e%",
    "hunter3 & more, Bearer 1",
    "\ufffd".repeat(100),
    "\\",
    "&#99999999; &#x110000; %ff%fe \\u12",
  ])
    assert.equal(hideSecrets(text, sent), text);
});

const filled = (piece: string, length: number) => piece.repeat(length).slice(0, length);

test("however secrets and answers are made, it takes a millisecond or two", () => {
  const parts = (piece: string, length: number) => {
    const these = Array.from({ length: 100 }, (_, i) => filled(piece, length + (i % 20)) + i);
    return [these.join(";").slice(0, 8_192)];
  };
  const dashes = [Array.from({ length: 92 }, (_, i) => "-".repeat(8 + i)).join(";")];
  const sents = [parts("\\", 70), parts("--%2525", 60), parts("\\x-", 60), dashes];
  const texts = ["\\", "\\\\x", "-", "--------------------%25252525", "--%2525252d\\", "\\u005c"];
  for (const text of texts.map((piece) => filled(piece, 1_024)))
    for (const sent of [...sents, [filled("\\", 65_536)], [filled("a;", 65_536)]]) {
      const took = Array.from({ length: 7 }, () => {
        const { user, system } = process.cpuUsage();
        hideSecrets(text, sent);
        const now = process.cpuUsage();
        return (now.user + now.system - user - system) / 1_000;
      });
      // Where nothing is bounded, 8 ms for some of these and 25 for others.
      assert.ok(
        Math.min(...took) < 4,
        `${text.slice(0, 30)}, ${sent[0]?.slice(0, 30)}: ${took} ms`,
      );
    }
});

test("many secrets that begin alike are told from each other, and from others that do", () => {
  const sent = Array.from({ length: 20 }, (_, i) => `sk_live_${"x".repeat(i)}0123456789`);
  const text = filled('{"error": "sk_live_other", "of": "task"} ', 900);
  assert.equal(hideSecrets(text, sent), text);
  assert.equal(hideSecrets(`${text}${sent[3]}, ${sent[19]}`, sent), `${text}[secret], [secret]`);
});
