/**
 * Reads a cron expression. cron-parser expands the items of a field ("1-5", "*\/15", "MON"), one item at a time, because it refuses
 * lists whose items overlap. What it gets wrong or does not have is decided here:
 *
 * - refused, naming the token: 0 to 4 and 7 or more fields, `H` (random at every parse), steps larger than the field, unknown macros;
 * - added: `@midnight`, macros in any case, `15W`, `LW`, `L-3`, ranges of weekdays over the week's end (`SAT-SUN`, `FRI-MON`),
 *   lists of `1#1` and `5L`, items that overlap;
 * - day of month and day of week are both required if either field starts with a star, else one is enough (crontab's rule).
 */
import { CronExpressionParser } from "cron-parser";
import { BoundedCache } from "./bounded-cache.ts";
import type { CronDays, CronTimes } from "./cron-calendar.ts";
import { daysInMonth, everMatches } from "./cron-calendar.ts";

export type CronFields = CronTimes & {
  /** Seconds, minute or hour begins with a star: follows real time through a change of the clocks. */
  readonly followsRealTime: boolean;
  /** Day of month does not begin with a star. */
  readonly monthDayIsSet: boolean;
};

export type CronReading =
  /** `expression` is the canonical form: one space between fields, macros in lower case. */
  | { readonly kind: "ok"; readonly expression: string; readonly fields: CronFields }
  | { readonly kind: "invalid"; readonly message: string };

const EXPRESSION_LENGTH_MAX = 500;

const MACROS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@weekdays": "0 0 * * 1-5",
  "@weekends": "0 0 * * 0,6",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
  "@minutely": "* * * * *",
  "@secondly": "* * * * * *",
};

type FieldName = "second" | "minute" | "hour" | "dayOfMonth" | "month" | "dayOfWeek";

type FieldKind = {
  readonly name: FieldName;
  readonly title: string;
  readonly min: number;
  readonly max: number;
  /** How many different values: a step may not be larger. */
  readonly size: number;
  readonly names: readonly string[];
  /** Items with a meaning of their own, in upper case. */
  readonly special: RegExp | null;
};

const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ");
const MONTH_TITLES =
  "January February March April May June July August September October November December".split(
    " ",
  );

const KINDS: readonly FieldKind[] = [
  { name: "second", title: "second", min: 0, max: 59, size: 60, names: [], special: null },
  { name: "minute", title: "minute", min: 0, max: 59, size: 60, names: [], special: null },
  { name: "hour", title: "hour", min: 0, max: 23, size: 24, names: [], special: null },
  {
    name: "dayOfMonth",
    title: "day of month",
    min: 1,
    max: 31,
    size: 31,
    names: [],
    special: /^(?:L|LW|L-(?:[12]?\d|30)|(?:[1-9]|[12]\d|3[01])W)$/,
  },
  { name: "month", title: "month", min: 1, max: 12, size: 12, names: MONTHS, special: null },
  {
    name: "dayOfWeek",
    title: "day of week",
    min: 0,
    max: 7,
    size: 7,
    names: WEEKDAYS,
    special: /^[0-7](?:L|#[1-5])$/,
  },
];

/** How EventBridge writes schedules, and what to give here. */
const INSTEAD_OF_WRAPPED = [
  ["cron(", "give the fields alone, an expression of EventBridge without its year"],
  ["rate(", 'give {"type": "every", "seconds": …}'],
  ["at(", 'give {"type": "at", "at": …}'],
] as const;

/** Thrown inside this file only: why a token was refused. */
class TokenRefused extends Error {}

/** Reads an expression of 5 fields, 6 with seconds first, or a macro. Never throws; costs microseconds. */
export function readCron(text: string): CronReading {
  try {
    return readExpression(text.trim());
  } catch (error) {
    if (error instanceof TokenRefused) return { kind: "invalid", message: error.message };
    throw error;
  }
}

/**
 * The same of an expression that somebody has just written. It refuses what can be read, but hardly as it was meant: six fields of
 * EventBridge begin with minutes and end with the year, and the third or fifth is "?". What is stored goes on as it was read.
 */
export function readNewCron(text: string): CronReading {
  const parts = text.trim().split(/[ \t]+/);
  const [begin = ""] = parts;
  const wrapped = INSTEAD_OF_WRAPPED.find(([wrapper]) => begin.startsWith(wrapper));
  if (wrapped !== undefined)
    return { kind: "invalid", message: `${quote(begin)} is not supported: ${wrapped[1]}` };
  const kinds = parts.length === 5 ? KINDS.slice(1) : KINDS;
  const at = kinds.findIndex(
    ({ name }, i) => parts[i]?.includes("?") && name !== "dayOfMonth" && name !== "dayOfWeek",
  );
  if (at < 0) return readCron(text);
  const misread = `${kinds[at]?.title} ${quote(parts[at] ?? "")}`;
  const message = `${misread} is not supported: only the day of month or of week may be "?"; six fields begin with seconds, an expression of EventBridge is given without its year`;
  return { kind: "invalid", message };
}

function readExpression(trimmed: string): CronReading {
  if (trimmed === "") throw new TokenRefused("is empty");
  if (trimmed.length > EXPRESSION_LENGTH_MAX) {
    throw new TokenRefused(`is longer than ${EXPRESSION_LENGTH_MAX} characters`);
  }
  const isMacro = trimmed.startsWith("@");
  const expression = isMacro ? trimmed.toLowerCase() : trimmed.split(/[ \t]+/).join(" ");
  const expanded = isMacro ? MACROS[expression] : expression;
  if (expanded === undefined) {
    const known = Object.keys(MACROS).join(" ");
    throw new TokenRefused(`${quote(trimmed)} is not supported; there are ${known}`);
  }
  const parts = expanded.split(" ");
  if (parts.length !== 5 && parts.length !== 6) {
    throw new TokenRefused(
      `has ${parts.length} ${parts.length === 1 ? "field" : "fields"}; expected 5 (minute, hour, day of month, month, day of week) or 6 (seconds first)`,
    );
  }
  const fields = readFields(parts.length === 5 ? ["0", ...parts] : parts);
  if (!everMatches(fields)) throw new TokenRefused(neverFires(fields));
  return { kind: "ok", expression, fields };
}

function readFields(parts: readonly string[]): CronFields {
  const texts = parts.map((part) => part.replaceAll("?", "*"));
  const items = texts.map((text, index) => readItems(KINDS[index] as FieldKind, text));
  const [seconds = [], minutes = [], hours = [], monthDays = [], months = [], weekdays = []] =
    items;
  const [second = "", minute = "", hour = "", monthDay = "", , weekday = ""] = texts;
  const both = monthDay.startsWith("*") || weekday.startsWith("*");
  return {
    seconds: sortedNumbers(seconds),
    minutes: sortedNumbers(minutes),
    hours: sortedNumbers(hours),
    months: bits(sortedNumbers(months)),
    days: readDays(monthDays, weekdays, both),
    followsRealTime: [second, minute, hour].some((text) => text.startsWith("*")),
    monthDayIsSet: !monthDay.startsWith("*"),
  };
}

type Item = number | string;

/** The values of a field: numbers, and the special items as they are. */
function readItems(kind: FieldKind, text: string): readonly Item[] {
  return text.split(",").flatMap((item) => {
    const token = item.toUpperCase().replace(/[A-Z]{3}/g, (name) => {
      const at = kind.names.indexOf(name);
      return at < 0 ? name : String(at + kind.min);
    });
    if (kind.special?.test(token)) return [token];
    return checkedItems(kind, token, item).flatMap((plain) => expandItem(kind.name, plain));
  });
}

/** Refuses what is not a star, a value or a range, with or without a step; splits a range over the week's end. */
function checkedItems(kind: FieldKind, token: string, item: string): readonly string[] {
  const refuse = (why: string) => new TokenRefused(`${kind.title} ${quote(item)} ${why}`);
  const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,3}))?$/.exec(token);
  if (match === null) throw refuse(whyUnreadable(kind, token));
  const [, fromText, toText, stepText] = match;
  const from = Number(fromText ?? kind.min);
  const to = Number(toText ?? from);
  const step = Number(stepText ?? 1);
  if (from < kind.min || Math.max(from, to) > kind.max) {
    throw refuse(`is outside ${kind.min}-${kind.max}`);
  }
  if (step === 0) throw refuse("has a step of 0");
  if (step > kind.size) throw refuse(`has a step larger than the field (${kind.size} values)`);
  if (from <= to) return [token];
  const steps = stepText === undefined ? "" : `/${stepText}`;
  if (kind.name !== "dayOfWeek" || steps !== "") {
    throw refuse(`runs backwards; write ${from}-${kind.max}${steps},${kind.min}-${to}${steps}`);
  }
  return to === 0 ? [`${from}-7`] : [`${from}-7`, `1-${to}`];
}

function whyUnreadable(kind: FieldKind, token: string): string {
  if (token === "") return "is empty";
  if (token.includes("H")) return "is not supported: H would mean another time at every reading";
  if (kind.name === "dayOfWeek" && token === "L") return "needs its weekday, such as 5L";
  if (/[LW#]/.test(token)) return `is not something that ${kind.title} can hold`;
  return "cannot be read";
}

const expandedItems = new BoundedCache<string, readonly Item[]>(2_000);

function expandItem(name: FieldName, item: string): readonly Item[] {
  return expandedItems.getOrMake(`${name} ${item}`, () => {
    const row = KINDS.map((kind) => (kind.name === name ? item : "*"));
    // A given currentDate and UTC keep the parser from looking at the clock and at the machine's zone.
    const options = { currentDate: new Date(0), tz: "UTC" };
    return CronExpressionParser.parse(row.join(" "), options).fields[name].values;
  });
}

function readDays(monthDays: readonly Item[], weekdays: readonly Item[], both: boolean): CronDays {
  const special = monthDays.filter((item) => typeof item === "string");
  const ofWeek = weekdays.filter((item) => typeof item === "string");
  return {
    monthDays: bits(sortedNumbers(monthDays).map((day) => day - 1)),
    fromMonthEnd: special
      .filter((item) => /^L(?:-|$)/.test(item))
      .map((item) => Number(item.slice(2))),
    nearestWeekdays: special
      .filter((item) => item.endsWith("W"))
      .map((item) => (item === "LW" ? 0 : Number.parseInt(item, 10))),
    weekdays: bits(sortedNumbers(weekdays).map((day) => day % 7)),
    lastWeekdays: bits(
      ofWeek.filter((item) => item.endsWith("L")).map((item) => Number(item[0]) % 7),
    ),
    nthWeekdays: ofWeek
      .filter((item) => item[1] === "#")
      .map((item) => ({ weekday: Number(item[0]) % 7, nth: Number(item[2]) })),
    both,
  };
}

function sortedNumbers(items: readonly Item[]): number[] {
  const numbers = items.filter((item) => typeof item === "number");
  return [...new Set(numbers)].sort((a, b) => a - b);
}

function bits(positions: readonly number[]): number {
  return positions.reduce((set, position) => set | (1 << position), 0);
}

function neverFires(fields: CronFields): string {
  const day = Math.clz32(fields.days.monthDays) ^ 31;
  const month = Math.clz32(fields.months) ^ 31;
  const isOneDay = fields.days.monthDays === 1 << day && fields.months === 1 << month;
  if (isOneDay && day + 1 > daysInMonth(2000, month)) {
    return `never fires: ${day + 1} ${MONTH_TITLES[month - 1]} never comes`;
  }
  return "never fires: no day of the calendar matches";
}

function quote(token: string): string {
  return JSON.stringify(token.length > 40 ? `${token.slice(0, 40)}…` : token);
}
