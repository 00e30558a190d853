/** Whatever is sent, parsing answers; whatever it accepts compiles and moves on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { localTime, nextOccurrence, parseSchedule } from "./schedule.ts";

const ALWAYS = { startAtMs: null, endAtMs: null };

function check(input: unknown, afterMs: number): void {
  const parsed = parseSchedule(input);
  if (parsed.kind === "invalid") {
    assert.ok(parsed.problems.length > 0);
    return;
  }
  const again = parseSchedule(JSON.parse(JSON.stringify(parsed.schedule)));
  assert.deepEqual(again, parsed, "the canonical form is stable");
  const runMs = nextOccurrence(parsed.schedule, ALWAYS, afterMs);
  if (runMs === null) return;
  assert.ok(runMs > afterMs);
  assert.equal(nextOccurrence(parsed.schedule, ALWAYS, runMs - 1), runMs);
  assert.equal(Date.parse(localTime(parsed.schedule, runMs)), runMs);
}

const instants = fc.integer({ min: Date.UTC(1975, 0), max: Date.UTC(2100, 0) });
const timezones = fc.constantFrom("UTC", "Europe/Madrid", "Australia/Lord_Howe", "local", "EST");

test("any value at all", () => {
  fc.assert(fc.property(fc.anything(), instants, check), { numRuns: 500 });
});

test("any values in the known fields", () => {
  const schedules = fc.record(
    {
      type: fc.constantFrom("at", "cron", "every"),
      at: fc.anything(),
      timezone: fc.oneof(timezones, fc.anything()),
      expression: fc.anything(),
      seconds: fc.oneof(fc.integer(), fc.anything()),
      anchor: fc.anything(),
    },
    { requiredKeys: ["type"] },
  );
  fc.assert(fc.property(schedules, instants, check), { numRuns: 1_000 });
});

test("expressions made of what cron is made of", () => {
  const word = fc.constantFrom(
    ..."* ? L W H # / - , 0 1 5 7 9 15 29 31 59 60 MON JAN @daily".split(" "),
  );
  const field = fc.oneof(
    { weight: 2, arbitrary: fc.constant("*") },
    { weight: 2, arbitrary: fc.nat(60).map(String) },
    { weight: 1, arbitrary: fc.array(word, { minLength: 1, maxLength: 5 }).map((w) => w.join("")) },
  );
  const expression = fc.array(field, { minLength: 4, maxLength: 7 }).map((f) => f.join(" "));
  const schedules = fc.record({ type: fc.constant("cron"), expression, timezone: timezones });
  fc.assert(fc.property(schedules, instants, check), { numRuns: 3_000 });
});

test("times around those of ISO 8601", () => {
  const part = (max: number, size: number) =>
    fc.nat(max).map((value) => String(value).padStart(size, "0"));
  const at = fc
    .tuple(
      part(9_999, 4),
      part(13, 2),
      part(32, 2),
      part(24, 2),
      part(60, 2),
      fc.constantFrom("", ":30", ":60", ":30.5", ":30.123456"),
      fc.constantFrom("", "Z", "+02:00", "-11:30", "+2:00", "+24:00"),
    )
    .map(([year, month, day, hour, minute, second, offset]) => {
      return `${year}-${month}-${day}T${hour}:${minute}${second}${offset}`;
    });
  const schedules = fc.record(
    { type: fc.constant("at"), at, timezone: timezones },
    { requiredKeys: ["type", "at"] },
  );
  fc.assert(fc.property(schedules, instants, check), { numRuns: 2_000 });
});
