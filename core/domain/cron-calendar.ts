/**
 * Cron on the wall: the next matching wall time in a calendar that knows no time zone. Days are found a month at a
 * time: the days of a month are a 31-bit set (bit 0 is day 1), so that 29 February on a Monday, decades ahead, costs
 * microseconds.
 */

/** Which days match. Weekdays are bits 0 (Sunday) to 6. */
export type CronDays = {
  readonly monthDays: number;
  /** Days counted from the month's end: 0 is the last day (`L`), 3 is `L-3`. */
  readonly fromMonthEnd: readonly number[];
  /** `15W`: the weekday nearest to day 15 in its month; 0 is `LW`. */
  readonly nearestWeekdays: readonly number[];
  readonly weekdays: number;
  /** `5L`: the last Friday of the month. */
  readonly lastWeekdays: number;
  /** `5#2`: the second Friday of the month. */
  readonly nthWeekdays: readonly { readonly weekday: number; readonly nth: number }[];
  /** True: a day must match both fields; false: either. */
  readonly both: boolean;
};

export type CronTimes = {
  /** Sorted, never empty. */
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** Bits 1 to 12. */
  readonly months: number;
  readonly days: CronDays;
};

export type WallDay = { readonly year: number; readonly month: number; readonly day: number };

const DAY_SECONDS = 86_400;
const LAST_YEAR = 9_999;
/** Leap years and weekdays repeat after this many years. */
const CALENDAR_CYCLE_YEARS = 400;

/** The first matching wall second at or after `fromSecond` (seconds since 1970 on the wall), or null when none is left. */
export function nextWallSecond(
  times: CronTimes,
  fromSecond: number,
  lastYear = LAST_YEAR,
): number | null {
  const epochDay = Math.floor(fromSecond / DAY_SECONDS);
  const { year, month, day } = wallDay(epochDay);
  if (year > lastYear) return null;
  let days = matchingDays(times, year, month) & -(1 << (day - 1));
  if (days & (1 << (day - 1))) {
    const timeOfDay = nextTimeOfDay(times, fromSecond - epochDay * DAY_SECONDS);
    if (timeOfDay !== null) return epochDay * DAY_SECONDS + timeOfDay;
    days &= days - 1;
  }
  let monthNumber = year * 12 + month - 1;
  const lastMonthNumber = lastYear * 12 + 11;
  while (days === 0) {
    monthNumber += 1;
    if (monthNumber > lastMonthNumber) return null;
    days = matchingDays(times, Math.floor(monthNumber / 12), (monthNumber % 12) + 1);
  }
  const found = epochDayOf(
    Math.floor(monthNumber / 12),
    (monthNumber % 12) + 1,
    lowestBit(days) + 1,
  );
  return found * DAY_SECONDS + firstTimeOfDay(times);
}

/** Whether any day of the calendar's whole cycle matches. */
export function everMatches(times: CronTimes): boolean {
  const start = epochDayOf(2000, 1, 1) * DAY_SECONDS;
  return nextWallSecond(times, start, 2000 + CALENDAR_CYCLE_YEARS - 1) !== null;
}

export function wallDay(epochDay: number): WallDay {
  const date = new Date(epochDay * DAY_SECONDS * 1_000);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

export function epochDayOf(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / (DAY_SECONDS * 1_000);
}

export function daysInMonth(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

function matchingDays(times: CronTimes, year: number, month: number): number {
  if ((times.months & (1 << month)) === 0) return 0;
  const length = daysInMonth(year, month);
  // 1 January 1970 was a Thursday.
  const firstWeekday = (((epochDayOf(year, month, 1) + 4) % 7) + 7) % 7;
  const { days } = times;
  const byMonthDay = monthDaySet(days, length, firstWeekday);
  const byWeekday = weekdaySet(days, length, firstWeekday);
  const all = 2 ** length - 1;
  return (days.both ? byMonthDay & byWeekday : byMonthDay | byWeekday) & all;
}

function monthDaySet(days: CronDays, length: number, firstWeekday: number): number {
  let set = days.monthDays;
  for (const back of days.fromMonthEnd) {
    if (back < length) set |= 1 << (length - back - 1);
  }
  for (const wanted of days.nearestWeekdays) {
    const day = wanted === 0 ? length : wanted;
    if (day <= length) set |= 1 << (nearestWeekday(day, length, firstWeekday) - 1);
  }
  return set;
}

function nearestWeekday(day: number, length: number, firstWeekday: number): number {
  const weekday = (firstWeekday + day - 1) % 7;
  if (weekday === 6) return day > 1 ? day - 1 : day + 2;
  if (weekday === 0) return day < length ? day + 1 : day - 2;
  return day;
}

function weekdaySet(days: CronDays, length: number, firstWeekday: number): number {
  const week = ((days.weekdays >> firstWeekday) | (days.weekdays << (7 - firstWeekday))) & 127;
  let set = week | (week << 7) | (week << 14) | (week << 21) | (week << 28);
  for (let weekday = 0; days.lastWeekdays >> weekday !== 0; weekday += 1) {
    if ((days.lastWeekdays & (1 << weekday)) === 0) continue;
    const lastWeekday = (firstWeekday + length - 1) % 7;
    set |= 1 << (length - ((lastWeekday - weekday + 7) % 7) - 1);
  }
  for (const { weekday, nth } of days.nthWeekdays) {
    const day = 1 + ((weekday - firstWeekday + 7) % 7) + (nth - 1) * 7;
    if (day <= length) set |= 1 << (day - 1);
  }
  return set;
}

function lowestBit(set: number): number {
  return 31 - Math.clz32(set & -set);
}

function firstTimeOfDay(times: CronTimes): number {
  return timeOfDay(times.hours[0], times.minutes[0], times.seconds[0]);
}

function nextTimeOfDay(times: CronTimes, fromSecond: number): number | null {
  const hour = Math.floor(fromSecond / 3_600);
  const minute = Math.floor(fromSecond / 60) % 60;
  const second = fromSecond % 60;
  if (times.hours.includes(hour)) {
    if (times.minutes.includes(minute)) {
      const nextSecond = times.seconds.find((value) => value >= second);
      if (nextSecond !== undefined) return timeOfDay(hour, minute, nextSecond);
    }
    const nextMinute = times.minutes.find((value) => value > minute);
    if (nextMinute !== undefined) return timeOfDay(hour, nextMinute, times.seconds[0]);
  }
  const nextHour = times.hours.find((value) => value > hour);
  return nextHour === undefined ? null : timeOfDay(nextHour, times.minutes[0], times.seconds[0]);
}

function timeOfDay(hour = 0, minute = 0, second = 0): number {
  return (hour * 60 + minute) * 60 + second;
}
