/**
 * What a target answers is kept and shown. A target that repeats what it was sent must not make secrets readable by it, in whatever
 * notation its framework writes texts.
 */
import { SECRET_BYTES_MAX } from "#core/domain/limits.ts";
import { meaningsOf, readingsOf, UNREADABLE } from "./text-readings.ts";

const HIDDEN = "[secret]";
/** Shorter ones would hide half of an answer, and are no secrets. */
const LENGTH_MIN = 4;
/** What stands behind a scheme or a name is the secret proper: `Bearer …`, `session=…; …`. Shorter parts are words. */
const PART_LENGTH_MIN = 8;
/** Of tenants' secrets, which are 8 KiB together: more would have many parts, and take long. */
const NEEDLES_MAX = 100;
/**
 * In characters of the text that are looked through for a needle, one needle after the other; what a needle has of escapes takes
 * longer. Both are a tenant's and the thread is everybody's: nothing is shown of an answer that takes more, which is a millisecond.
 */
const EFFORT_MAX = 60_000;
const ESCAPED_EFFORT = 16;
const BETWEEN_PARTS = /[\s"',:;=]+/;

/** `text` without any of `sent` or of its parts, escaped or not, also where one was cut at the end of the text. */
export function hideSecrets(text: string, sent: readonly string[]): string {
  const near = needlesOf(sent).filter((needle) => mayStandIn(text, needle));
  if (near.length === 0) return text;
  const readings = readingsOf(text);
  const isBlurred = readings.some((reading) => reading.text.includes(UNREADABLE));
  let effort = 0;
  const needles = new Set<string>();
  // It may look escaped itself.
  for (const needle of near)
    for (const read of meaningsOf(needle)) {
      effort += ESCAPED_EFFORT * (needle.length - read.length);
      if (effort > EFFORT_MAX) return HIDDEN;
      if (read.length >= LENGTH_MIN) needles.add(comparable(read, isBlurred));
    }
  const ends = new Uint32Array(text.length);
  for (const { text: read, starts } of readings) {
    const searched = comparable(read, isBlurred);
    for (const needle of needles) {
      // Mostly its first characters are nowhere, which takes half as long.
      const isNear = searched.includes(needle.slice(0, LENGTH_MIN));
      effort += isNear ? searched.length : searched.length / 2;
      if (effort > EFFORT_MAX) return HIDDEN;
      if (isNear) notePlaces(searched, needle, starts, ends);
    }
  }
  return without(text, ends);
}

/** Secrets and their parts. What is sent has no blanks around it; a token may be longer than secrets are, but what is kept of answers is not. */
function needlesOf(sent: readonly string[]): readonly string[] {
  const wholes = sent.map((secret) => secret.trim().slice(0, SECRET_BYTES_MAX));
  const parts = wholes
    .flatMap((secret) => secret.split(BETWEEN_PARTS))
    .filter(({ length }) => length >= PART_LENGTH_MIN);
  return [...new Set([...wholes, ...parts])]
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
 * Where `needle` stands in `text`, or its beginning at the end: in `ends`, by where it begins, where what stands there ends. Time is
 * linear whatever the two are (Knuth, Morris and Pratt).
 */
function notePlaces(
  text: string,
  needle: string,
  starts: readonly number[] | null,
  ends: Uint32Array,
): void {
  const wanted = needle.slice(0, text.length);
  const borders = bordersOf(wanted);
  const note = (from: number, to: number) => {
    const start = starts?.[from] ?? from;
    const end = starts?.[to] ?? to;
    if (end > (ends[start] ?? 0)) ends[start] = end;
  };
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    matched = extended(wanted, borders, matched, text.charCodeAt(at));
    if (matched < wanted.length) continue;
    note(at + 1 - matched, at + 1);
    matched = borders[matched] ?? 0;
  }
  if (matched >= LENGTH_MIN) note(text.length - matched, text.length);
}

/** Of each beginning of `wanted`, by its length: how long its longest shorter beginning is that it ends with. */
function bordersOf(wanted: string): Uint32Array {
  const borders = new Uint32Array(wanted.length + 1);
  for (let at = 1; at < wanted.length; at++)
    borders[at + 1] = extended(wanted, borders, borders[at] ?? 0, wanted.charCodeAt(at));
  return borders;
}

/** How much of `wanted` is matched when `next` follows what has matched `matched` of it. */
function extended(wanted: string, borders: Uint32Array, matched: number, next: number): number {
  let length = matched;
  while (length > 0 && wanted.charCodeAt(length) !== next) length = borders[length] ?? 0;
  return wanted.charCodeAt(length) === next ? length + 1 : 0;
}

/** One may contain another, and the end of one be the beginning of another. */
function without(text: string, ends: Uint32Array): string {
  let hidden = "";
  let shownTo = 0;
  for (const [from, to] of ends.entries()) {
    if (to === 0) continue;
    if (from >= shownTo) hidden += text.slice(shownTo, from) + HIDDEN;
    shownTo = Math.max(shownTo, to);
  }
  return hidden + text.slice(shownTo);
}
