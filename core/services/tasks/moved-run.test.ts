import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Schedule } from "#core/domain/schedule.ts";
import type { Task } from "#core/domain/task.ts";
import { buildTask } from "#test/contract/builders.ts";
import { cron, next } from "#test/support/schedules.ts";
import { movedRun } from "./moved-run.ts";

// British Columbia keeps -07:00 from November 2026 on: by older data its winter has -08:00, and 09:00 is 17:00Z.
const VANCOUVER = { timezone: "America/Vancouver" };
const YEARLY: Schedule = { type: "cron", expression: "0 9 15 1 *", ...VANCOUVER };
const DAILY: Schedule = { type: "cron", expression: "0 9 * * *", ...VANCOUVER };
const TWO_DAYS: Schedule = { type: "cron", expression: "0 9 15 1,2 *", ...VANCOUVER };
const ONCE: Schedule = { type: "at", at: "2027-01-15T09:00", ...VANCOUVER };
const TODAYS = "2027-01-15T16:00:00Z";
const BEFORE = "2026-12-01T00:00:00Z";

function moved(schedule: Schedule, stored: string, now: string, changes: Partial<Task> = {}) {
  const { task } = buildTask(Date.parse("2026-06-01T00:00:00Z"), {
    task: { schedule, nextRunAtMs: Date.parse(stored), ...changes },
  });
  const atMs = movedRun(task, Date.parse(now));
  return atMs === null ? null : new Date(atMs).toISOString().replace(".000", "");
}

test("a next run of rules that have changed belongs where today's have it, earlier or later", () => {
  for (const schedule of [YEARLY, DAILY, ONCE])
    for (const stored of ["2027-01-15T17:00:00Z", "2027-01-15T15:00:00Z", "2027-01-15T13:30:00Z"])
      assert.equal(
        moved(schedule, stored, BEFORE),
        TODAYS,
        `${JSON.stringify(schedule)} ${stored}`,
      );
  assert.equal(moved(TWO_DAYS, "2027-02-15T17:00:00Z", TODAYS), "2027-02-15T16:00:00Z");
});

test("one that is where it belongs stays, and so does one that belongs nowhere", () => {
  for (const schedule of [YEARLY, DAILY, ONCE]) assert.equal(moved(schedule, TODAYS, BEFORE), null);
  const window = { endAtMs: Date.parse("2027-01-15T15:30:00Z") };
  assert.equal(moved(YEARLY, "2027-01-15T15:00:00Z", BEFORE, window), null);
  const gone: Schedule = { type: "cron", expression: "0 9 * * *", timezone: "Mars/Base" };
  assert.equal(moved(gone, TODAYS, BEFORE), null);
});

test("one that stands for a run that has passed by today's rules stays: it is called late, and never left out", () => {
  for (const schedule of [YEARLY, DAILY, ONCE]) {
    assert.equal(moved(schedule, "2027-01-15T17:00:00Z", "2027-01-15T15:59:59.999Z"), TODAYS);
    assert.equal(moved(schedule, "2027-01-15T17:00:00Z", TODAYS), null);
    assert.equal(moved(schedule, "2027-01-15T17:00:00Z", "2027-01-15T18:00:00Z"), null);
  }
});

test("one that is due too early by today's rules waits for its time", () => {
  for (const schedule of [YEARLY, DAILY, ONCE])
    assert.equal(moved(schedule, "2027-01-15T15:00:00Z", "2027-01-15T15:00:05Z"), TODAYS);
});

test("an `at` in the past, which a create runs at once, is not moved; nor is what has no zone", () => {
  const made = "2027-01-15T16:00:05Z";
  assert.equal(moved(ONCE, made, made), null);
  const instant: Schedule = { type: "at", at: TODAYS };
  assert.equal(moved(instant, made, BEFORE), null);
  const every: Schedule = { type: "every", seconds: 3_600, anchor: TODAYS };
  assert.equal(moved(every, made, BEFORE), null);
  assert.equal(moved(DAILY, TODAYS, BEFORE, { nextRunAtMs: null }), null);
});

test("property: what a schedule has for its next run is never moved, and what is moved is a run of it, later than now", () => {
  const zones = ["America/Vancouver", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"];
  const expressions = ["* * * * *", "*/20 * * * * *", "30 2 * * *", "0 0 1 * *", "30 1 L 1,2 0#1"];
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom(...expressions),
      fc.integer({ min: 0, max: 2_500_000_000 }),
      fc.integer({ min: -120, max: 120 }),
      (zone, expression, nowSeconds, minutes) => {
        const schedule = cron(expression, zone);
        const now = new Date(nowSeconds * 1_000).toISOString();
        const runAt = next(schedule, now);
        assert(runAt !== null);
        assert.equal(moved(schedule, runAt, now), null);
        const shifted = new Date(Date.parse(runAt) + minutes * 60_000).toISOString();
        const to = moved(schedule, shifted, now);
        if (to === null) return;
        const before = new Date(Date.parse(to) - 1).toISOString();
        assert.equal(next(schedule, before), to.replace("Z", ".000Z"));
        assert.ok(Date.parse(to) > Date.parse(now));
      },
    ),
    { numRuns: 500 },
  );
});

test("of runs that are nearer to each other than rules move, the nearest is taken, none before it", () => {
  const hourly: Schedule = { type: "cron", expression: "15 8-20 * * *", ...VANCOUVER };
  assert.equal(moved(hourly, "2027-01-15T18:00:00Z", BEFORE), "2027-01-15T18:15:00Z");
});
