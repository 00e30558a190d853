/**
 * A second opinion on cron: slow, obvious, and sharing no line with core/domain. It walks real minutes, asks Intl what the wall shows
 * at each, matches fields with a matcher of its own, and applies crontab's rule by remembering the latest wall time seen.
 * Knows what the generator below writes: stars, values, ranges, steps, lists, names, `L`, `5L`, `1#2`, five or six fields.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Clocks go back by 3 hours at most in the years that the oracle is used for (Casey, Troll). */
const MEMORY_MS = 4 * 60 * MINUTE_MS;

const formats = new Map<string, Intl.DateTimeFormat>();

/** What the wall shows at an instant, as Date.UTC of its digits. */
export function wallAt(zone: string, instantMs: number): number {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, format);
  }
  const [month, day, year, hour, minute, second] = (
    format.format(instantMs).match(/\d+/g) ?? []
  ).map(Number) as [number, number, number, number, number, number];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** A change of a zone's clocks: at `atMs` the wall leaves `fromMs` (offset) for `toMs`. */
export type Change = { zone: string; atMs: number; fromMs: number; toMs: number };

/** All changes of a zone between two instants, found by looking at every day and halving. */
export function changesOf(zone: string, fromMs: number, untilMs: number): Change[] {
  const offset = (instantMs: number) => wallAt(zone, instantMs) - instantMs;
  const changes: Change[] = [];
  let before = offset(fromMs);
  for (let dayMs = fromMs; dayMs < untilMs; dayMs += DAY_MS) {
    const after = offset(dayMs + DAY_MS);
    if (after === before) continue;
    let low = dayMs;
    let high = dayMs + DAY_MS;
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    changes.push({ zone, atMs: high, fromMs: before, toMs: after });
    before = after;
  }
  return changes;
}

const NAMES: Record<string, number> = { SUN: 0, MON: 1, TUE: 2, WED: 3, THU: 4, FRI: 5, SAT: 6 };
"JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ").forEach((name, index) => {
  NAMES[name] = index + 1;
});

function fieldHas(field: string, value: number, min: number, max: number): boolean {
  return field.split(",").some((item) => {
    const [range = "", step] = item.split("/");
    const [from, to] = range
      .split("-")
      .map((end) => (end === "*" || end === "?" ? Number.NaN : (NAMES[end] ?? Number(end))));
    const low = from === undefined || Number.isNaN(from) ? min : from;
    const high = to ?? (Number.isNaN(from) || step !== undefined ? max : low);
    return value >= low && value <= high && (value - low) % Number(step ?? 1) === 0;
  });
}

function dayMatches(wallMs: number, dayField: string, monthField: string, weekField: string) {
  const wall = new Date(wallMs);
  const day = wall.getUTCDate();
  if (!fieldHas(monthField, wall.getUTCMonth() + 1, 1, 12)) return false;
  const isLastDay = new Date(wallMs + DAY_MS).getUTCDate() === 1;
  const isLastWeek = new Date(wallMs + 7 * DAY_MS).getUTCDate() <= 7;
  const byDay = dayField.split(",").some((item) => {
    return item === "L" ? isLastDay : fieldHas(item, day, 1, 31);
  });
  const byWeek = weekField.split(",").some((item) => {
    const weekday = wall.getUTCDay();
    if (item.endsWith("L")) return isLastWeek && Number(item[0]) % 7 === weekday;
    if (item.includes("#")) {
      return Number(item[0]) % 7 === weekday && Math.ceil(day / 7) === Number(item[2]);
    }
    return fieldHas(item, weekday, 0, 7) || (weekday === 0 && fieldHas(item, 7, 0, 7));
  });
  const either = !/^[*?]/.test(dayField) && !/^[*?]/.test(weekField);
  return either ? byDay || byWeek : byDay && byWeek;
}

export type OracleCron = {
  /** Follows real time instead of being a list of wall times. */
  wild: boolean;
  /** Seconds that match in a wall minute; empty when the minute does not match. */
  secondsAt: (wallMs: number) => number[];
};

export function oracleCron(expression: string): OracleCron {
  const parts = expression.split(" ");
  const [second = "", minute = "", hour = "", day = "", month = "", week = ""] =
    parts.length === 5 ? ["0", ...parts] : parts;
  const seconds = Array.from({ length: 60 }, (_, value) => value).filter((value) =>
    fieldHas(second, value, 0, 59),
  );
  return {
    wild: [second, minute, hour].some((field) => /^[*?]/.test(field)),
    secondsAt(wallMs) {
      const wall = new Date(wallMs);
      const matches =
        fieldHas(minute, wall.getUTCMinutes(), 0, 59) &&
        fieldHas(hour, wall.getUTCHours(), 0, 23) &&
        dayMatches(wallMs, day, month, week);
      return matches ? seconds : [];
    },
  };
}

/**
 * The first run after `afterMs`, or null when there is none up to `untilMs`. For zones whose offsets and changes are whole minutes.
 */
export function oracleNext(
  expression: string,
  zone: string,
  afterMs: number,
  untilMs: number,
): number | null {
  const { wild, secondsAt } = oracleCron(expression);
  let nowMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS;
  let seenMs = Number.NEGATIVE_INFINITY;
  if (!wild) {
    for (let backMs = nowMs - MEMORY_MS; backMs < nowMs; backMs += MINUTE_MS) {
      seenMs = Math.max(seenMs, wallAt(zone, backMs));
    }
  }
  for (; nowMs <= untilMs; nowMs += MINUTE_MS) {
    const wallMs = wallAt(zone, nowMs);
    const runs: number[] = [];
    if (!wild) {
      for (let lostMs = seenMs + MINUTE_MS; lostMs < wallMs; lostMs += MINUTE_MS) {
        if (secondsAt(lostMs).length > 0) runs.push(nowMs);
      }
    }
    if (wild || wallMs > seenMs) {
      runs.push(...secondsAt(wallMs).map((second) => nowMs + second * 1_000));
    }
    const run = runs.find((runMs) => runMs > afterMs);
    if (run !== undefined) return run <= untilMs ? run : null;
    seenMs = Math.max(seenMs, wallMs);
  }
  return null;
}

/** Seeded pseudo-random numbers (mulberry32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A random expression, likely to meet the wall time `aroundMs`. */
export function randomExpression(random: (below: number) => number, aroundMs: number): string {
  const pick = <T>(...choices: T[]): T => choices[random(choices.length)] as T;
  const wall = new Date(aroundMs + (random(300) - 150) * MINUTE_MS);
  const value = (near: number, min: number, max: number) =>
    random(3) === 0 ? min + random(max - min + 1) : near;
  const range = (near: number, min: number, max: number) => {
    const from = value(near, min, max);
    return `${from}-${from + random(max - from + 1)}`;
  };
  const field = (near: number, min: number, max: number): string =>
    pick(
      () => "*",
      () => `*/${pick(2, 3, 5, 7)}`,
      () => String(value(near, min, max)),
      () => String(near),
      () => `${value(near, min, max)},${value(near, min, max)},${value(near, min, max)}`,
      () => range(near, min, max),
      () => `${range(near, min, max)}/${pick(2, 3)}`,
      () => `${value(near, min, max)}/${pick(2, 5)}`,
      () => `${value(near, min, max)},${range(near, min, max)}`,
    )();
  const starOr = (stars: number, other: () => string) => (random(10) < stars ? "*" : other());
  const day = starOr(6, () =>
    pick(
      () => field(wall.getUTCDate(), 1, 31),
      () => "L",
      () => "?",
      () => `L,${wall.getUTCDate()}`,
    )(),
  );
  const month = starOr(7, () => field(wall.getUTCMonth() + 1, 1, 12));
  const weekday = starOr(6, () =>
    pick(
      () => field(wall.getUTCDay(), 0, 7),
      () => `${wall.getUTCDay()}L`,
      () => `${wall.getUTCDay()}#${1 + random(5)}`,
      () => "MON-FRI",
      () => "5-7",
    )(),
  );
  const seconds = random(4) === 0 ? [field(random(60), 0, 59)] : [];
  const minute = field(wall.getUTCMinutes(), 0, 59);
  const hour = field(wall.getUTCHours(), 0, 23);
  return [...seconds, minute, hour, day, month, weekday].join(" ");
}

/** How many cases of a randomised test to run: the variable's number, else `usual`. */
export function casesWanted(variable: string, usual: number): number {
  return Number(process.env[variable] ?? usual);
}

/** The seed of a randomised test: CRON_SEED, else today's fixed one. */
export function seedWanted(): number {
  return Number(process.env.CRON_SEED ?? 20261129);
}
