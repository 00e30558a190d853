/** Cron schedules: the vectors, and the tables of what is accepted and refused. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { ALWAYS, accepted, cron, next, refused } from "#test/support/schedules.ts";
import { nextOccurrence } from "./schedule.ts";

type Vector = { id: string; expr: string; tz: string; after: string; expect: string };

describe("cron: the vectors", () => {
  const file = new URL("../../test/cases/cron-vectors.json", import.meta.url);
  const vectors: Vector[] = JSON.parse(readFileSync(file, "utf8"));
  assert.ok(vectors.length >= 40, "the vectors are there");
  for (const { id, expr, tz, after, expect } of vectors) {
    test(`${id}: ${expr} in ${tz} after ${after}`, () => {
      assert.equal(next(cron(expr, tz), after), new Date(expect).toISOString());
    });
  }
});

describe("cron: refused, naming the field and the token", () => {
  const cases: [string, RegExp][] = [
    ["", /is empty/],
    ["   ", /is empty/],
    ["0 9 * *", /has 4 fields/],
    ["0 0 9 * * * 2026", /has 7 fields/],
    ["*/90 * * * *", /minute "\*\/90" .*larger than the field/],
    ["0 */25 * * *", /hour "\*\/25"/],
    ["0/61 * * * *", /minute "0\/61"/],
    ["0 0 * * */8", /day of week "\*\/8"/],
    ["*/0 * * * *", /minute "\*\/0" .*step of 0/],
    ["H * * * *", /minute "H" .*not supported/],
    ["0 H(1-5) * * *", /hour "H\(1-5\)" .*not supported/],
    ["0 9 * * ? *", /month "\?" .*only the day of month or of week.*without its year/],
    ["0/15 * * * ? *", /month "\?" /],
    ["0 18 ? * MON-FRI *", /hour "\?" /],
    ["? 9 * * *", /minute "\?" /],
    ["0 9 * ? *", /month "\?" /],
    ["?/15 * * * *", /minute "\?\/15" /],
    ["0 ?,5 * * *", /hour "\?,5" /],
    ["cron(0 9 * * ? *)", /"cron\(0" is not supported: give the fields alone.*without its year/],
    ["rate(5 minutes)", /"rate\(5" is not supported: .*{"type": "every", "seconds": …}/],
    ["at(2030-01-01T09:00:00)", /"at\(2030-01-01T09:00:00\)" is not supported: .*{"type": "at"/],
    ["@reboot", /"@reboot" is not supported/],
    ["@every 5m", /"@every 5m" is not supported/],
    ["0 0 30 2 *", /30 February never comes/],
    ["0 0 31 4 *", /31 April never comes/],
    ["0 0 31 2,4,6,9,11 *", /never fires/],
    ["0 0 30W 2 *", /never fires/],
    ["60 * * * *", /minute "60" is outside 0-59/],
    ["* 24 * * *", /hour "24" is outside 0-23/],
    ["* * 0 * *", /day of month "0" is outside 1-31/],
    ["* * * 13 *", /month "13"/],
    ["* * * * 8", /day of week "8"/],
    ["* * * * 9-2", /day of week "9-2" is outside 0-7/],
    ["50-10 * * * *", /minute "50-10" runs backwards; write 50-59,0-10/],
    ["0 0 * NOV-FEB *", /month "NOV-FEB" runs backwards/],
    ["0 0 * * FRI-MON/2", /day of week "FRI-MON\/2" runs backwards/],
    ["0 0 * * L", /day of week "L" needs its weekday/],
    ["0 0 * * 1#6", /day of week "1#6"/],
    ["0 0 * L *", /month "L"/],
    ["0 0 32W * *", /day of month "32W"/],
    ["1,,2 * * * *", /minute "" is empty/],
    ["0x5 * * * *", /minute "0x5"/],
    ["1e1 * * * *", /minute "1e1"/],
    ["0 0 * * MONDAY", /day of week "MONDAY"/],
    ["0 0 * FOO *", /month "FOO"/],
    ["-5 * * * *", /minute "-5"/],
    ["*5 * * * *", /minute "\*5"/],
    ["0 9 * *\n* *", /cannot be read|fields/],
    [`${"1,".repeat(300)}1 * * * *`, /longer than/],
  ];
  for (const [expression, message] of cases) {
    test(JSON.stringify(expression.slice(0, 40)), () => {
      const problems = refused({ type: "cron", expression });
      assert.deepEqual(
        problems.map(({ field }) => field),
        ["expression"],
      );
      assert.match(problems[0]?.message ?? "", message);
    });
  }

  test("an expression that only ever falls into gaps of its zone", () => {
    // The second Sunday of March at 2 o'clock; the star in the minutes means that nothing is made up.
    const expression = "* 2 8-14 3 */7";
    const [problem] = refused({ type: "cron", expression, timezone: "America/New_York" });
    assert.equal(problem?.field, "expression");
    assert.match(problem?.message ?? "", /never fires/);
    assert.equal(accepted({ type: "cron", expression, timezone: "UTC" }).warnings.length, 0);
    accepted({ type: "cron", expression: "0 2 8-14 3 */7", timezone: "America/New_York" });
  });

  for (const timezone of [
    "local",
    "system",
    "UTC+5",
    "+05:00",
    "Mars/Base",
    "",
    "BST",
    "JST",
    "SystemV/EST5",
    "Europe/Madrid ",
    "a".repeat(500),
    5,
    null,
    {},
  ]) {
    test(`zone ${JSON.stringify(timezone)?.slice(0, 40)}`, () => {
      const problems = refused({ type: "cron", expression: "0 9 * * *", timezone });
      assert.deepEqual(
        problems.map(({ field }) => field),
        ["timezone"],
      );
    });
  }

  test("both fields are named when both are wrong", () => {
    const problems = refused({ type: "cron", expression: 5, timezone: "local" });
    assert.deepEqual(
      problems.map(({ field }) => field),
      ["expression", "timezone"],
    );
  });
});

describe("cron: accepted", () => {
  const cases: [string, string, string][] = [
    // expression, after, next
    ["@daily", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00.000Z"],
    ["@midnight", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00.000Z"],
    ["  @Midnight\t", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00.000Z"],
    ["@HOURLY", "2026-02-01T00:00:00Z", "2026-02-01T01:00:00.000Z"],
    ["@weekly", "2026-02-01T00:00:00Z", "2026-02-08T00:00:00.000Z"],
    ["@monthly", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00.000Z"],
    ["@yearly", "2026-02-01T00:00:00Z", "2027-01-01T00:00:00.000Z"],
    ["@annually", "2026-02-01T00:00:00Z", "2027-01-01T00:00:00.000Z"],
    ["@minutely", "2026-02-01T00:00:00Z", "2026-02-01T00:01:00.000Z"],
    ["@secondly", "2026-02-01T00:00:00Z", "2026-02-01T00:00:01.000Z"],
    ["@weekdays", "2026-02-06T00:00:00Z", "2026-02-09T00:00:00.000Z"],
    ["@weekends", "2026-02-02T00:00:00Z", "2026-02-07T00:00:00.000Z"],
    ["5/15 * * * *", "2026-02-01T00:00:00Z", "2026-02-01T00:05:00.000Z"],
    ["0 0 * * 5-7", "2026-02-01T00:00:00Z", "2026-02-06T00:00:00.000Z"],
    ["0 0 * * 0,7", "2026-02-01T00:00:00Z", "2026-02-08T00:00:00.000Z"],
    ["0 9 * * MON-FRI", "2026-02-06T12:00:00Z", "2026-02-09T09:00:00.000Z"],
    ["0 9 * * sat-sun", "2026-02-02T12:00:00Z", "2026-02-07T09:00:00.000Z"],
    ["0 9 * * FRI-MON", "2026-02-02T12:00:00Z", "2026-02-06T09:00:00.000Z"],
    ["0 9 * * FRI-MON", "2026-02-08T12:00:00Z", "2026-02-09T09:00:00.000Z"],
    ["0 0 L * *", "2026-02-01T00:00:00Z", "2026-02-28T00:00:00.000Z"],
    ["0 0 1,L * *", "2026-02-28T00:00:00Z", "2026-03-01T00:00:00.000Z"],
    ["0 0 L-3 * *", "2024-02-01T00:00:00Z", "2024-02-26T00:00:00.000Z"],
    ["0 0 LW * *", "2026-02-01T00:00:00Z", "2026-02-27T00:00:00.000Z"],
    ["0 0 31W * *", "2026-05-01T00:00:00Z", "2026-05-29T00:00:00.000Z"],
    ["0 0 * * 5L", "2026-02-01T00:00:00Z", "2026-02-27T00:00:00.000Z"],
    ["0 0 * * FRIL", "2026-02-01T00:00:00Z", "2026-02-27T00:00:00.000Z"],
    ["0 0 * * 1#1", "2026-02-03T00:00:00Z", "2026-03-02T00:00:00.000Z"],
    ["0 0 * * FRI#5", "2026-06-01T00:00:00Z", "2026-07-31T00:00:00.000Z"],
    ["0 0 * * MON#1,7#2", "2026-02-02T00:00:00Z", "2026-02-08T00:00:00.000Z"],
    ["0 0 ? * 1", "2026-02-03T00:00:00Z", "2026-02-09T00:00:00.000Z"],
    ["0 0 15 * ?", "2026-02-03T00:00:00Z", "2026-02-15T00:00:00.000Z"],
    ["*/15,7 * * * *", "2026-02-01T00:00:00Z", "2026-02-01T00:07:00.000Z"],
    ["*/15,30 * * * *", "2026-02-01T00:15:00Z", "2026-02-01T00:30:00.000Z"],
    ["*/20 * * * * *", "2026-02-01T00:00:20Z", "2026-02-01T00:00:40.000Z"],
    ["30 0 9 * * *", "2026-02-01T00:00:00Z", "2026-02-01T09:00:30.000Z"],
    ["0 0 1,31 2 *", "2026-02-02T00:00:00Z", "2027-02-01T00:00:00.000Z"],
    ["0 0 31 2,4,5 *", "2026-06-01T00:00:00Z", "2027-05-31T00:00:00.000Z"],
    ["0 0 29 2 */7", "2026-01-01T00:00:00Z", "2032-02-29T00:00:00.000Z"],
    ["0 0 29 2 */7", "2088-03-01T00:00:00Z", "2128-02-29T00:00:00.000Z"],
    ["0 0 29 2 1", "2028-02-28T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 29 2 1", "2028-02-29T00:00:00Z", "2029-02-05T00:00:00.000Z"],
  ];
  for (const [expression, after, expected] of cases) {
    test(`${JSON.stringify(expression)} after ${after}`, () => {
      assert.equal(next(cron(expression), after), expected);
    });
  }

  test("a rare one that follows real time runs in both passes, and across changes months ahead", () => {
    const rare = cron("*/10 1 1 11 *", "America/New_York");
    assert.equal(next(rare, "2026-11-01T05:50:00Z"), "2026-11-01T06:00:00.000Z");
    assert.equal(next(rare, "2026-11-01T06:50:00Z"), "2027-11-01T05:00:00.000Z");
    const summer = cron("*/10 0 1 7 *", "Europe/Madrid");
    assert.equal(next(summer, "2026-01-15T00:00:00Z"), "2026-06-30T22:00:00.000Z");
    const winter = cron("*/10 0 1 12 *", "Europe/Madrid");
    assert.equal(next(winter, "2026-07-15T00:00:00Z"), "2026-11-30T23:00:00.000Z");
  });

  test("the canonical form", () => {
    assert.deepEqual(cron("  @DAILY ", "asia/calcutta"), {
      type: "cron",
      expression: "@daily",
      timezone: "Asia/Kolkata",
    });
    assert.deepEqual(accepted({ type: "cron", expression: " 0  9\t* * MON " }).schedule, {
      type: "cron",
      expression: "0 9 * * MON",
      timezone: "UTC",
    });
  });

  test("none is left after the year 9999", () => {
    assert.equal(next(cron("@yearly"), "9998-06-01T00:00:00Z"), "9999-01-01T00:00:00.000Z");
    assert.equal(next(cron("@yearly"), "9999-06-01T00:00:00Z"), null);
    assert.equal(next(cron("* * * * *", "Europe/Madrid"), "9999-12-31T23:59:00Z"), null);
    // On the wall of New York the year is not over.
    for (const expression of ["0 20 31 12 *", "* 20 31 12 *"])
      assert.equal(next(cron(expression, "America/New_York"), "9999-06-01T00:00:00Z"), null);
    assert.equal(nextOccurrence(cron("* * * * *"), ALWAYS, 9e15), null);
  });

  test("nothing runs before 1970", () => {
    assert.equal(nextOccurrence(cron("* * * * *"), ALWAYS, -9e15), 0);
    assert.equal(nextOccurrence(cron("* * * * *"), ALWAYS, Number.NEGATIVE_INFINITY), 0);
  });

  test("rules go on after the tables of the zones end", () => {
    const schedule = cron("0 9 * * *", "Europe/Madrid");
    assert.equal(next(schedule, "2150-07-01T00:00:00Z"), "2150-07-01T07:00:00.000Z");
    assert.equal(next(schedule, "2150-12-01T00:00:00Z"), "2150-12-01T08:00:00.000Z");
  });
});
