import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import { checkQuotas } from "./check-quotas.ts";

function cron(expression: string, timezone = "UTC"): Schedule {
  return { type: "cron", expression, timezone };
}

function intervalFault(schedule: Schedule, minIntervalSeconds: number): string | null {
  const problems = checkQuotas({ schedule }, { ...QUOTAS_DEFAULT, minIntervalSeconds });
  assert.ok(problems.length <= 1);
  return problems[0] === undefined ? null : `${problems[0].field}: ${problems[0].message}`;
}

test("`every` is held to the smallest interval, to the second", () => {
  const every = (seconds: number): Schedule => ({
    type: "every",
    seconds,
    anchor: "1970-01-01T00:00:00.000Z",
  });
  assert.equal(intervalFault(every(300), 300), null);
  assert.equal(
    intervalFault(every(299), 300),
    "schedule.seconds: runs 299 s apart; this tenant's tasks run at least 300 s apart (quota minIntervalSeconds)",
  );
  assert.equal(intervalFault(every(1), 1), null);
});

test("a cron is held to the smallest gap between its runs, wherever that is", () => {
  for (const [expression, gapSeconds] of [
    ["* * * * *", 60],
    ["* * * * * *", 1],
    ["*/15 * * * *", 900],
    ["0,1 9 * * *", 60],
    ["50 9,10 * * *", 3_600],
    // From the last run of one day to the first of the next.
    ["55 0,23 * * *", 3_600],
    ["0 0,23 1,15,16 * *", 3_600],
    ["0 9 * * MON,TUE", 86_400],
    ["0 0 1 1 *", 365 * 86_400],
    // The last day of one month and the first of the next.
    ["0 0 1,L * *", 86_400],
    ["0 0 29 2 *", 4 * 365.25 * 86_400],
  ] as const) {
    assert.equal(intervalFault(cron(expression), gapSeconds), null, expression);
    const fault = intervalFault(cron(expression), gapSeconds + 1);
    assert.ok(fault?.includes(`schedule.expression: runs ${gapSeconds} s apart`), `${fault}`);
  }
});

test("a change of the clocks makes no gap smaller", () => {
  assert.equal(intervalFault(cron("30 0-23 * * *", "Europe/Madrid"), 3_600), null);
  assert.equal(intervalFault(cron("0 2,3 * * *", "Australia/Lord_Howe"), 3_600), null);
});

test("an `at` has no interval, and what is not given is not looked at", () => {
  const at: Schedule = { type: "at", at: "2026-12-01T09:00:00Z" };
  assert.equal(intervalFault(at, 86_400), null);
  assert.deepEqual(
    checkQuotas({}, { tasksMax: 0, bodyBytesMax: 0, minIntervalSeconds: 86_400 }),
    [],
  );
});

test("bodies are counted in the bytes that are sent", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.uint8Array({ maxLength: 40 }), (body, raw) => {
      const bodyBase64 = Buffer.from(raw).toString("base64");
      for (const [request, field, bytes] of [
        [{ body }, "request.body", Buffer.byteLength(body)],
        [{ body: null, bodyBase64 }, "request.bodyBase64", raw.length],
      ] as const) {
        const at = (bodyBytesMax: number) =>
          checkQuotas({ request }, { ...QUOTAS_DEFAULT, bodyBytesMax });
        assert.deepEqual(at(bytes), []);
        if (bytes === 0) continue;
        const message = `has ${bytes} bytes; this tenant's bodies have at most ${bytes - 1} (quota bodyBytesMax)`;
        assert.deepEqual(at(bytes - 1), [{ field, message }]);
      }
    }),
  );
});

test("both faults are told at once", () => {
  const problems = checkQuotas(
    { schedule: cron("* * * * *"), request: { body: "xy" } },
    { tasksMax: 1, bodyBytesMax: 1, minIntervalSeconds: 61 },
  );
  assert.deepEqual(
    problems.map(({ field }) => field),
    ["schedule.expression", "request.body"],
  );
});
