/** Instants and wall times as ISO 8601 text. Stricter than Date.parse, which takes "Dec 1", "2026" and local time. */
import { epochDayOf, wallDay } from "./cron-calendar.ts";

export type IsoTime = {
  /** What Date.UTC gives for the digits, in ms. */
  readonly wallMs: number;
  /** Null when the text has no offset. */
  readonly offsetMs: number | null;
};

const ISO_TIME =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})?$/i;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Reads `2026-12-01T09:00`, with or without seconds, a fraction (cut to ms) and an offset (`Z`, `+02:00`). Null when the text
 * is anything else or its digits are no date.
 */
export function readIsoTime(text: string): IsoTime | null {
  const match = ISO_TIME.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match
    .slice(1, 7)
    .map((digits) => Number(digits ?? 0)) as [number, number, number, number, number, number];
  if (hour > 23 || minute > 59 || second > 59) return null;
  const epochDay = epochDayOf(year, month, day);
  const found = wallDay(epochDay);
  // A day or month that does not exist spills into another month; years before 100 into the 1900s.
  if (found.year !== year || found.month !== month) return null;
  const fractionMs = Number((match[7] ?? "0").slice(0, 3).padEnd(3, "0"));
  const timeMs = ((hour * 60 + minute) * 60 + second) * 1_000 + fractionMs;
  const offsetMs = readOffset(match[8]);
  return offsetMs === undefined ? null : { wallMs: epochDay * DAY_MS + timeMs, offsetMs };
}

/** Null when there is none, undefined when it is no offset. */
function readOffset(text: string | undefined): number | null | undefined {
  if (text === undefined) return null;
  if (text.toUpperCase() === "Z") return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}

/** `2026-03-29T09:00:00+02:00`; milliseconds and seconds of the offset only where they are not zero. */
export function formatLocal(instantMs: number, offsetMs: number): string {
  const [date = "", fraction = ""] = new Date(instantMs + offsetMs).toISOString().split(".");
  const ms = fraction === "000Z" ? "" : `.${fraction.slice(0, 3)}`;
  const size = new Date(Math.abs(offsetMs)).toISOString().slice(11, 19).replace(/:00$/, "");
  return `${date}${ms}${offsetMs < 0 ? "-" : "+"}${size}`;
}
