import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ALWAYS, accepted, cron, next, refused } from "#test/support/schedules.ts";
import type { Schedule } from "./schedule.ts";
import {
  atInstantMs,
  compileSchedule,
  localTime,
  nextInWindow,
  nextOccurrence,
  ScheduleError,
} from "./schedule.ts";

function ms(instant: string): number {
  return Date.parse(instant);
}

describe("at", () => {
  const at = (text: string, timezone?: string) =>
    accepted({ type: "at", at: text, ...(timezone === undefined ? {} : { timezone }) });
  const instant = ({ schedule }: { schedule: Schedule }) => {
    assert.ok(schedule.type === "at");
    return new Date(atInstantMs(schedule)).toISOString();
  };

  test("is stored as given", () => {
    const given = { type: "at", at: "2026-12-01T09:00:00+02:00" };
    assert.deepEqual(accepted(given), { kind: "ok", schedule: given, warnings: [] });
    assert.deepEqual(at("2026-12-01T09:00", "europe/kiev").schedule, {
      type: "at",
      at: "2026-12-01T09:00",
      timezone: "Europe/Kyiv",
    });
  });

  test("is the instant that it names", () => {
    assert.equal(instant(at("2026-12-01T09:00:00Z")), "2026-12-01T09:00:00.000Z");
    assert.equal(instant(at("2026-12-01t09:00:00.1234567z")), "2026-12-01T09:00:00.123Z");
    assert.equal(instant(at("2026-12-01T09:00:00-05:30")), "2026-12-01T14:30:00.000Z");
    assert.equal(instant(at("2026-12-01T09:00:00", "Europe/Madrid")), "2026-12-01T08:00:00.000Z");
    assert.equal(instant(at("1970-01-01T00:00:00Z")), "1970-01-01T00:00:00.000Z");
    assert.equal(instant(at("9999-12-31T23:59:59.999Z")), "9999-12-31T23:59:59.999Z");
  });

  test("in a gap it is the gap's end, in a repeated hour the first pass; both with a warning", () => {
    const gap = at("2027-03-28T02:30:00", "Europe/Madrid");
    assert.equal(instant(gap), "2027-03-28T01:00:00.000Z");
    assert.match(gap.warnings.join(), /skip this time: it runs at 2027-03-28T03:00:00\+02:00/);
    const twice = at("2026-10-25T02:30:00", "Europe/Madrid");
    assert.equal(instant(twice), "2026-10-25T00:30:00.000Z");
    assert.match(twice.warnings.join(), /twice/);
    assert.deepEqual(at("2026-10-25T03:00:00", "Europe/Madrid").warnings, []);
    assert.deepEqual(at("2026-10-25T01:59:59", "Europe/Madrid").warnings, []);
  });

  test("occurs once", () => {
    const { schedule } = at("2026-12-01T09:00:00Z");
    assert.equal(next(schedule, "2026-12-01T08:59:59.999Z"), "2026-12-01T09:00:00.000Z");
    assert.equal(next(schedule, "2026-12-01T09:00:00Z"), null);
  });

  const wrong: [Record<string, unknown>, string][] = [
    [{ at: 1796115600000 }, "at"],
    [{ at: 1796115600 }, "at"],
    [{ at: "1796115600" }, "at"],
    [{}, "at"],
    [{ at: null }, "at"],
    [{ at: "2026-12-01T09:00:00" }, "at"],
    [{ at: "2026-12-01" }, "at"],
    [{ at: "2026-02-30T09:00:00Z" }, "at"],
    [{ at: "2026-12-01T24:00:00Z" }, "at"],
    [{ at: "2026-12-01T09:60:00Z" }, "at"],
    [{ at: "2026-12-01T09:00:60Z" }, "at"],
    [{ at: "2026-12-01T09:00:00+2:00" }, "at"],
    [{ at: "2026-12-01T09:00:00+25:00" }, "at"],
    [{ at: "2026-12-01T09:00:00-02:60" }, "at"],
    [{ at: ["2026-12-01T09:00:00Z"] }, "at"],
    [{ at: "tomorrow" }, "at"],
    [{ at: "1969-12-31T23:59:59Z" }, "at"],
    [{ at: "1970-01-01T00:30:00", timezone: "Europe/Madrid" }, "at"],
    [{ at: "9999-12-31T23:59:59-05:00" }, "at"],
    [{ at: "+010000-01-01T00:00:00Z" }, "at"],
    [{ at: "0001-01-01T00:00:00Z" }, "at"],
    [{ at: "2026-12-01T09:00:00Z", timezone: "Europe/Madrid" }, "timezone"],
    [{ at: "2026-12-01T09:00:00", timezone: "local" }, "timezone"],
    [{ at: "2026-12-01T09:00:00", timezone: null }, "timezone"],
  ];
  for (const [fields, field] of wrong) {
    test(`refused: ${JSON.stringify(fields)}`, () => {
      const problems = refused({ type: "at", ...fields });
      assert.deepEqual(
        problems.map((problem) => problem.field),
        [field],
      );
    });
  }
});

describe("every", () => {
  test("counts from its anchor, the epoch by default", () => {
    const { schedule } = accepted({ type: "every", seconds: 900 });
    assert.deepEqual(schedule, { type: "every", seconds: 900, anchor: "1970-01-01T00:00:00.000Z" });
    assert.equal(next(schedule, "2026-02-01T00:07:00Z"), "2026-02-01T00:15:00.000Z");
    assert.equal(next(schedule, "2026-02-01T00:15:00Z"), "2026-02-01T00:30:00.000Z");
    const shifted = accepted({ type: "every", seconds: 900, anchor: "2026-02-01T02:01:30+02:00" });
    assert.equal(next(shifted.schedule, "2026-02-01T00:15:00Z"), "2026-02-01T00:16:30.000Z");
    assert.equal(next(shifted.schedule, "2025-02-01T00:15:00Z"), "2025-02-01T00:16:30.000Z");
    assert.equal(next(schedule, "9999-12-31T23:50:00Z"), null);
    const second = accepted({ type: "every", seconds: 1 }).schedule;
    assert.equal(next(second, "2026-02-01T00:15:00Z"), "2026-02-01T00:15:01.000Z");
  });

  for (const seconds of [0, -1, 1.5, "900", null, undefined, 1e9, 2 ** 60, Number.NaN]) {
    test(`refused: ${seconds} seconds`, () => {
      assert.equal(refused({ type: "every", seconds })[0]?.field, "seconds");
    });
  }
  for (const anchor of [0, "2026-12-01T09:00:00", "noon", null, "1969-01-01T00:00:00Z"]) {
    test(`refused: anchor ${anchor}`, () => {
      assert.equal(refused({ type: "every", seconds: 60, anchor })[0]?.field, "anchor");
    });
  }
});

describe("any schedule", () => {
  test("what is no schedule is refused", () => {
    for (const input of [null, undefined, 5, "0 9 * * *", [], {}, { type: "daily" }]) {
      assert.equal(refused(input)[0]?.field, "type");
    }
  });

  test("unknown fields are refused by name", () => {
    const input = { type: "cron", expression: "* * * * *", tz: "UTC", seconds: 5 };
    assert.deepEqual(
      refused(input).map(({ field }) => field),
      ["tz", "seconds"],
    );
    const polluted = JSON.parse('{"type":"every","seconds":5,"__proto__":{"anchor":"x"}}');
    assert.equal(refused(polluted)[0]?.field, "__proto__");
  });

  test("a canonical schedule is parsed to itself", () => {
    for (const input of [
      { type: "at", at: "2026-12-01T09:00", timezone: "asia/saigon" },
      { type: "cron", expression: " @Daily", timezone: "US/Eastern" },
      { type: "every", seconds: 5, anchor: "2026-01-01T00:00:00+01:00" },
    ]) {
      const { schedule } = accepted(input);
      assert.deepEqual(accepted(schedule).schedule, schedule);
    }
  });

  test("start is inclusive, end exclusive", () => {
    const schedule = cron("0 * * * *");
    const window = { startAtMs: ms("2026-02-01T10:00:00Z"), endAtMs: ms("2026-02-01T12:00:00Z") };
    const after = (instant: string) => nextOccurrence(schedule, window, ms(instant));
    assert.equal(after("2026-01-01T00:00:00Z"), ms("2026-02-01T10:00:00Z"));
    assert.equal(after("2026-02-01T10:00:00Z"), ms("2026-02-01T11:00:00Z"));
    assert.equal(after("2026-02-01T11:00:00Z"), null);
  });

  test("one that does not advance is an error, not a loop", () => {
    for (const stuck of [(t: number) => t, (t: number) => t - 1, () => Number.NaN]) {
      assert.throws(
        () => nextInWindow({ next: stuck }, ALWAYS, 1_000),
        (error: unknown) => error instanceof ScheduleError && error.code === "schedule-invalid",
      );
    }
  });

  test("a stored one that cannot be compiled is an error", () => {
    const broken = [
      { type: "cron", expression: "nonsense", timezone: "UTC" },
      { type: "cron", expression: "* * * * *", timezone: "Mars/Base" },
      { type: "at", at: "tomorrow" },
      { type: "at", at: "2026-12-01T09:00" },
      { type: "at", at: "2026-12-01T09:00", timezone: "Mars/Base" },
      { type: "every", seconds: 5, anchor: "noon" },
      { type: "monthly" },
    ] as unknown as Schedule[];
    for (const schedule of broken) assert.throws(() => compileSchedule(schedule), ScheduleError);
  });

  test("local time has the offset of its zone at that instant", () => {
    const madrid = cron("0 9 * * *", "Europe/Madrid");
    assert.equal(localTime(madrid, ms("2026-03-29T07:00:00Z")), "2026-03-29T09:00:00+02:00");
    assert.equal(localTime(madrid, ms("2026-12-29T08:00:00Z")), "2026-12-29T09:00:00+01:00");
    const newfoundland = cron("0 9 * * *", "America/St_Johns");
    assert.equal(localTime(newfoundland, ms("2026-01-01T00:00:00Z")), "2025-12-31T20:30:00-03:30");
    const at = accepted({ type: "at", at: "2026-12-01T09:00:00-05:30" }).schedule;
    assert.equal(localTime(at, ms("2026-12-01T14:30:00Z")), "2026-12-01T09:00:00-05:30");
    const every = accepted({ type: "every", seconds: 5 }).schedule;
    assert.equal(localTime(every, 1_500), "1970-01-01T00:00:01.500+00:00");
  });

  test("warnings", () => {
    const warnings = (expression: string, timezone = "UTC") =>
      accepted({ type: "cron", expression, timezone }).warnings;
    assert.deepEqual(warnings("0 9 * * *", "Europe/Madrid"), []);
    // At the ends of what the clocks skip, and of what they repeat.
    assert.deepEqual(warnings("0 3 * * *", "Europe/Madrid"), []);
    assert.match(warnings("59 59 1 * * *", "Europe/London").join(), /skip.*twice/);
    assert.deepEqual(warnings("59 59 0 * * *", "Europe/London"), []);
    assert.deepEqual(warnings("30 2 * * *"), []);
    assert.deepEqual(warnings("*/30 2 * * *", "Europe/Madrid"), []);
    const [skipped, repeated, ...rest] = warnings("30 2 * * *", "Europe/Madrid");
    assert.match(skipped ?? "", /skip some of its times, such as 2026-03-29 02:30/);
    assert.match(repeated ?? "", /come twice in Europe\/Madrid, such as 2026-10-25 02:30/);
    assert.deepEqual(rest, []);
    assert.match(warnings("0 9 13 * 5").join(), /either/);
    assert.deepEqual(warnings("0 9 */2 * 5"), []);
    assert.match(warnings("0 9 31 * *").join(), /without a day 31/);
    assert.match(warnings("0 9 29 2 *").join(), /without a day 29/);
    assert.deepEqual(warnings("0 9 30 4 *"), []);
    assert.deepEqual(warnings("0 9 L * *"), []);
  });
});
