/**
 * Time zones by Intl alone. Intl answers one question well: which offset a zone has at an instant. Everything
 * else (which instant a wall time is) is worked out here from pieces of time over which the offset is constant.
 *
 * Pieces are found lazily: time is cut into windows of 32 days, and a window is probed every 4 days when it is
 * first asked for; where two probes differ, the change is found by bisection. No zone since 1970 left an offset
 * and came back to it in under 6.9 days (tz database 2026c), so no change hides between two probes. A cold window costs
 * 9 probes of about 1 µs; a warm one is a look-up.
 *
 * A *wall* number is what Date.UTC would give for the digits on the wall: instant + offset, in ms.
 */
import { BoundedCache } from "./bounded-cache.ts";

/** Time over which a zone's offset does not change: startMs ≤ instant < endMs, wall = instant + offsetMs. */
export type ZonePiece = {
  readonly startMs: number;
  readonly endMs: number;
  readonly offsetMs: number;
};

/** The offsets of one zone. */
export interface ZoneClock {
  readonly name: string;
  /** A piece that holds the instant; not always the longest one. */
  pieceAt(instantMs: number): ZonePiece;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PROBE_MS = 4 * DAY_MS;
const WINDOW_MS = 8 * PROBE_MS;
/** No zone is further from UTC than this, so the instant of a wall number lies within it. */
const OFFSET_MAX_MS = 16 * HOUR_MS;
/** Further back than this, no instant showed a later wall time than now does. */
export const FOLD_MAX_MS = 2 * OFFSET_MAX_MS;

/** A formatter of Intl weighs about 60 KB; there are fewer than 450 canonical zones. */
const ZONES_MAX = 512;
const NAMES_MAX = 1_024;
/** About 22 years of one zone. */
const WINDOWS_MAX = 256;

/** Names that IANA renamed and Intl still answers by the old name. */
const RENAMED: Readonly<Record<string, string>> = {
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/Catamarca",
  "America/Cordoba": "America/Argentina/Cordoba",
  "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Jujuy": "America/Argentina/Jujuy",
  "America/Louisville": "America/Kentucky/Louisville",
  "America/Mendoza": "America/Argentina/Mendoza",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Enderbury": "Pacific/Kanton",
};

/** Intl also takes ICU's own short names, where BST is Dhaka and IST is Calcutta. These are the ones of IANA. */
const THREE_LETTERS = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i;

const names = new BoundedCache<string, { readonly canonical: string | null }>(NAMES_MAX);
const clocks = new BoundedCache<string, ZoneClock>(ZONES_MAX);

/** IANA's present name of a zone in any spelling or alias, or null when there is no such zone. */
export function canonicalTimeZone(name: string): string | null {
  if (name.length > 64) return null;
  return names.getOrMake(name, (key) => ({ canonical: resolveName(key) })).canonical;
}

function resolveName(name: string): string | null {
  if (!/^[a-z][a-z0-9_+/-]*$/i.test(name) || /^systemv\//i.test(name)) return null;
  if (/^[a-z]{3}$/i.test(name) && !THREE_LETTERS.test(name)) return null;
  try {
    const resolved = new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions()
      .timeZone;
    return RENAMED[resolved] ?? resolved;
  } catch {
    return null; // Intl's only way to say that it does not know the zone.
  }
}

/** The offsets of a zone. Throws RangeError when there is no such zone. Kept in a bounded cache. */
export function zoneClock(name: string): ZoneClock {
  return clocks.getOrMake(name, (key) => {
    const canonical = canonicalTimeZone(key);
    if (canonical === null) throw new RangeError(`no time zone ${JSON.stringify(key)}`);
    return canonical === "UTC" ? UTC : new IntlZoneClock(canonical);
  });
}

/** The first instant at which the wall shows `wallMs` or later: in a gap its end, in a repeated hour the first pass. */
export function firstInstantAtWall(clock: ZoneClock, wallMs: number): number {
  let piece = clock.pieceAt(wallMs - OFFSET_MAX_MS);
  while (piece.endMs + piece.offsetMs <= wallMs) piece = clock.pieceAt(piece.endMs);
  return Math.max(piece.startMs, wallMs - piece.offsetMs);
}

/** The smallest wall number such that neither it nor a later one was shown at `instantMs` or before. */
export function firstUnseenWall(clock: ZoneClock, instantMs: number): number {
  let piece = clock.pieceAt(instantMs - FOLD_MAX_MS);
  let unseen = Number.NEGATIVE_INFINITY;
  while (piece.endMs <= instantMs) {
    unseen = Math.max(unseen, piece.endMs + piece.offsetMs);
    piece = clock.pieceAt(piece.endMs);
  }
  return Math.max(unseen, instantMs + piece.offsetMs + 1);
}

const UTC: ZoneClock = {
  name: "UTC",
  pieceAt: () => UTC_PIECE,
};

const UTC_PIECE: ZonePiece = {
  startMs: Number.NEGATIVE_INFINITY,
  endMs: Number.POSITIVE_INFINITY,
  offsetMs: 0,
};

class IntlZoneClock implements ZoneClock {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #windows = new Map<number, readonly ZonePiece[]>();

  constructor(name: string) {
    this.name = name;
    // The shortest text that carries the offset: "1 AM GMT+01:00".
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hour: "numeric",
      timeZoneName: "longOffset",
    });
  }

  pieceAt(instantMs: number): ZonePiece {
    const index = Math.floor(instantMs / WINDOW_MS);
    const pieces = this.#windows.get(index) ?? this.#findPieces(index);
    // A window is never empty and its last piece reaches to its end.
    return pieces.find((piece) => instantMs < piece.endMs) as ZonePiece;
  }

  #findPieces(index: number): readonly ZonePiece[] {
    const endMs = (index + 1) * WINDOW_MS;
    const pieces: ZonePiece[] = [];
    let startMs = index * WINDOW_MS;
    let knownMs = startMs;
    let offsetMs = this.#offsetAt(startMs);
    while (knownMs < endMs) {
      const probeMs = Math.min(endMs, knownMs + PROBE_MS);
      if (this.#offsetAt(probeMs) === offsetMs) {
        knownMs = probeMs;
        continue;
      }
      const changeMs = this.#findChange(knownMs, probeMs, offsetMs);
      if (changeMs < endMs) {
        pieces.push({ startMs, endMs: changeMs, offsetMs });
        startMs = changeMs;
        offsetMs = this.#offsetAt(changeMs);
      }
      knownMs = changeMs;
    }
    pieces.push({ startMs, endMs, offsetMs });
    if (this.#windows.size >= WINDOWS_MAX) this.#windows.clear();
    this.#windows.set(index, pieces);
    return pieces;
  }

  /** The first whole second after `lowMs` at which the offset is no longer `offsetMs`; at `highMs` it is not. */
  #findChange(lowMs: number, highMs: number, offsetMs: number): number {
    let low = lowMs / 1_000;
    let high = highMs / 1_000;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#offsetAt(middle * 1_000) === offsetMs) low = middle;
      else high = middle;
    }
    return high * 1_000;
  }

  #offsetAt(instantMs: number): number {
    const text = this.#format.format(instantMs);
    const at = text.lastIndexOf("GMT") + 3;
    if (at === text.length) return 0;
    const [hours = "0", minutes = "0", seconds = "0"] = text.slice(at + 1).split(":");
    const size = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1_000;
    return text[at] === "+" ? size : -size;
  }
}
