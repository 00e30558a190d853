/**
 * A text as it stands, and as who reads it undoes its escapes: those of JSON, URLs and HTML, all in one pass, and in some more
 * for one notation inside another and for what looks escaped by itself.
 */

/** What is read, and where each of its characters begins in the text, with the text's length behind them; null: where it stands. */
export interface Reading {
  readonly text: string;
  readonly starts: readonly number[] | null;
}

const READINGS_MAX = 6;

const ESCAPES = [
  String.raw`\\u[\da-f]{4}|\\x[\da-f]{2}|\\["'\\/bfnrt]`,
  // A character of UTF-8, or a byte that is none.
  String.raw`%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[\da-f](?:%[89ab][\da-f]){3}|%[\da-f]{2}`,
  String.raw`&(?:#x[\da-f]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos);`,
];
/** The beginning of one, where a text was cut. */
const CUT = [
  String.raw`\\(?:u[\da-f]{0,3}|x[\da-f]?)?`,
  String.raw`%(?:[c-f][\da-f](?:%[89ab][\da-f]){0,2}(?:%[89ab]?)?|[\da-f]?)`,
  String.raw`&#?[\da-z]{0,7}`,
];
const ESCAPE = new RegExp(ESCAPES.join("|"), "gi");
const CUT_ESCAPE = new RegExp(`(?<cut>(?:${CUT.join("|")})$)`, "i");
const ESCAPE_OR_CUT = new RegExp(`${CUT_ESCAPE.source}|${ESCAPE.source}`, "gi");

const NAMED: Readonly<Record<string, string>> = {
  ...{ "\\b": "\b", "\\f": "\f", "\\n": "\n", "\\r": "\r", "\\t": "\t" },
  ...{ "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'" },
};

/** What bytes that are no UTF-8 are read as. */
export const UNREADABLE = "\ufffd";

/** Of a text that is whole: itself first, then what it means, what that means … */
export function meaningsOf(text: string): readonly string[] {
  const meanings = [text];
  let last = text;
  while (meanings.length < READINGS_MAX) {
    const meaning = last.replace(ESCAPE, meaningOf);
    // Whatever is undone becomes shorter.
    if (meaning === last) break;
    meanings.push(meaning);
    last = meaning;
  }
  return meanings;
}

/** Of a text that may have been cut, itself first. What stands at its end is read as it is, and as an escape left unfinished. */
export function readingsOf(text: string): readonly Reading[] {
  const readings: Reading[] = [];
  let last: readonly Reading[] = [{ text, starts: null }];
  while (last.length > 0) {
    readings.push(...last);
    if (readings.length >= READINGS_MAX) break;
    last = last.flatMap((reading) => {
      const isCut = CUT_ESCAPE.test(reading.text);
      return [...undone(reading, ESCAPE), ...(isCut ? undone(reading, ESCAPE_OR_CUT) : [])];
    });
  }
  return readings;
}

/** None when there is nothing to undo. */
function undone({ text, starts }: Reading, escapes: RegExp): readonly Reading[] {
  const startOf = (at: number) => starts?.[at] ?? at;
  const readStarts: number[] = [];
  let read = "";
  let from = 0;
  const readPlain = (to: number) => {
    for (let at = from; at < to; at++) readStarts.push(startOf(at));
    read += text.slice(from, to);
  };
  for (const { index, 0: written, groups } of text.matchAll(escapes)) {
    readPlain(index);
    from = index + written.length;
    const meaning = groups?.cut === undefined ? meaningOf(written) : "";
    // Of two characters the second begins where the escape ends: what ends between them ends with it.
    for (let n = 0; n < meaning.length; n++) readStarts.push(startOf(n === 0 ? index : from));
    read += meaning;
  }
  if (from === 0) return [];
  readPlain(text.length);
  readStarts.push(startOf(text.length));
  return [{ text: read, starts: readStarts }];
}

/** Of an escape that is whole. */
function meaningOf(written: string): string {
  const named = NAMED[written];
  if (named !== undefined) return named;
  if (written.startsWith("%")) return percentDecoded(written);
  if (written.startsWith("&")) return entityDecoded(written);
  return written.length === 2 ? written.slice(1) : unitOf(written.slice(2));
}

function unitOf(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

function percentDecoded(written: string): string {
  if (written.length === "%41".length)
    return written < "%8" ? unitOf(written.slice(1)) : UNREADABLE;
  try {
    return decodeURIComponent(written);
  } catch {
    return UNREADABLE;
  }
}

/** By its number, `&#65;` or `&#x41;`. */
function entityDecoded(written: string): string {
  const digits = written.slice("&#".length, -1);
  const code = Number(/^x/i.test(digits) ? `0${digits}` : digits);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : UNREADABLE;
}
