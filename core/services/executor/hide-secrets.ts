/**
 * What a target answers is kept and shown. A target that repeats what it was sent must not make secrets readable by it, in whatever
 * notation its framework writes texts.
 */
import { readingsOf, UNREADABLE } from "./text-readings.ts";

const HIDDEN = "[secret]";
/** Shorter ones would hide half of an answer, and are no secrets. */
const LENGTH_MIN = 4;
/** What stands behind a scheme or a name is the secret proper: `Bearer …`, `session=…; …`. Shorter parts are words. */
const PART_LENGTH_MIN = 8;
/** Of tenants' secrets, which are 8 KiB together: more would have many parts, and take long. */
const NEEDLES_MAX = 100;
const BETWEEN_PARTS = /[\s"',:;=]+/;

/** `text` without any of `sent` or of its parts, escaped or not, also where one was cut at the end of the text. */
export function hideSecrets(text: string, sent: readonly string[]): string {
  const sought = needlesOf(sent);
  if (!sought.some((needle) => mayStandIn(text, needle))) return text;
  const readings = readingsOf(text, true);
  const isBlurred = readings.some((reading) => reading.text.includes(UNREADABLE));
  const needles = new Set(sought.map((needle) => comparable(needle, isBlurred)));
  const places: Place[] = [];
  for (const { text: read, starts } of readings) {
    const searched = comparable(read, isBlurred);
    for (const needle of needles)
      for (const { from, to } of placesOf(searched, needle))
        places.push({ from: starts?.[from] ?? from, to: starts?.[to] ?? to });
  }
  return places.length === 0 ? text : without(text, places);
}

interface Place {
  readonly from: number;
  readonly to: number;
}

/** Secrets and their parts, in all their readings: one may look escaped itself. What is sent has no blanks around it. */
function needlesOf(sent: readonly string[]): string[] {
  const wholes = sent.map((secret) => secret.trim());
  const parts = wholes
    .flatMap((secret) => secret.split(BETWEEN_PARTS))
    .filter(({ length }) => length >= PART_LENGTH_MIN);
  const written = [...new Set([...wholes, ...parts])].slice(0, NEEDLES_MAX);
  const undone = written.flatMap((one) => readingsOf(one, false).slice(1));
  return [...written, ...undone.map(({ text }) => text)]
    .filter(({ length }) => length >= LENGTH_MIN)
    .slice(0, NEEDLES_MAX);
}

/** Mostly it does not: letters and digits of ASCII stand for themselves in every notation. */
function mayStandIn(text: string, needle: string): boolean {
  const [beginning] = /^[\da-zA-Z]{0,4}/.exec(needle) ?? [""];
  return text.includes(beginning);
}

/** Of the same length. A blank is a `+` in forms; among bytes that are no UTF-8 whatever is not ASCII is one of them. */
function comparable(text: string, isBlurred: boolean): string {
  const spaced = text.replaceAll("+", " ");
  return isBlurred ? spaced.replace(/[\u0080-\uffff]/g, UNREADABLE) : spaced;
}

/**
 * Where `needle` stands in `text`, or its beginning at the end. Mostly its first characters are nowhere. Where they are, time is
 * linear whatever the two are (Knuth, Morris and Pratt): both are a tenant's, the thread is everybody's.
 */
function placesOf(text: string, needle: string): Place[] {
  if (!text.includes(needle.slice(0, LENGTH_MIN))) return [];
  const wanted = needle.slice(0, text.length);
  const borders = bordersOf(wanted);
  const places: Place[] = [];
  let matched = 0;
  for (let to = 1; to <= text.length; to++) {
    matched = extended(wanted, borders, matched, text[to - 1]);
    if (matched < wanted.length) continue;
    places.push({ from: to - matched, to });
    matched = borders[matched] ?? 0;
  }
  if (matched >= LENGTH_MIN) places.push({ from: text.length - matched, to: text.length });
  return places;
}

/** Of each beginning of `wanted`, by its length: how long its longest shorter beginning is that it ends with. */
function bordersOf(wanted: string): readonly number[] {
  const borders = [0, 0];
  for (let length = 2; length <= wanted.length; length++)
    borders.push(extended(wanted, borders, borders[length - 1] ?? 0, wanted[length - 1]));
  return borders;
}

/** How much of `wanted` is matched when `next` follows what has matched `matched` of it. */
function extended(
  wanted: string,
  borders: readonly number[],
  matched: number,
  next: string | undefined,
): number {
  let length = matched;
  while (length > 0 && wanted[length] !== next) length = borders[length] ?? 0;
  return wanted[length] === next ? length + 1 : 0;
}

/** One may contain another, and the end of one be the beginning of another. */
function without(text: string, places: readonly Place[]): string {
  let hidden = "";
  let shownTo = 0;
  for (const { from, to } of places.toSorted((a, b) => a.from - b.from)) {
    if (from >= shownTo) hidden += text.slice(shownTo, from) + HIDDEN;
    shownTo = Math.max(shownTo, to);
  }
  return hidden + text.slice(shownTo);
}
