import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeJobId, makeTaskId } from "#core/domain/ids.ts";
import { cursorAfter, monthOf, monthStartMs, planSteps } from "./months.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.parse("2026-11-14T12:00:00Z");
const ALL = { fromMs: null, toMs: null };

const taskMadeAt = (at: string) => makeTaskId(Date.parse(at), 1, new Uint8Array(8));
const monthsOf = (steps: readonly { readonly month: number }[]) => [
  ...new Set(steps.map(({ month }) => month)),
];

test("a month is that of UTC, whatever the process's zone", () => {
  assert.equal(monthOf(Date.parse("2026-11-30T23:59:59.999Z")), 202611);
  assert.equal(monthOf(Date.parse("2026-12-01T00:00:00.000Z")), 202612);
  assert.equal(monthStartMs(202612), Date.parse("2026-12-01T00:00:00.000Z"));
});

test("a list reads from now down to the month in which the task was made", () => {
  const steps = planSteps(taskMadeAt("2026-09-20T00:00:00Z"), ALL, null, NOW_MS);
  assert.deepEqual(monthsOf(steps), [202611, 202610, 202609]);
});

test("a task made at a month's very beginning has what a clock behind put into the month before", () => {
  const steps = planSteps(taskMadeAt("2026-11-01T00:00:05Z"), ALL, null, NOW_MS);
  assert.deepEqual(monthsOf(steps), [202611, 202610]);
});

test("on a month's first day, and on the last for clocks that are ahead, a list begins with that month's jobs", () => {
  const task = taskMadeAt("2026-09-20T00:00:00Z");
  for (const now of ["2026-11-01T00:00:00Z", "2026-11-01T23:59:59Z", "2026-10-31T12:00:00Z"])
    assert.equal(planSteps(task, ALL, null, Date.parse(now))[0]?.month, 202611, now);
});

test("other runs of the cursor's instant are read where the span holds it: `from` does, `to` does not", () => {
  const task = taskMadeAt("2026-09-20T00:00:00Z");
  const atMs = Date.parse("2026-11-10T00:00:00Z");
  const cursor = makeJobId(atMs, task, 7);
  const first = (span: { fromMs: number | null; toMs: number | null }) =>
    planSteps(task, span, cursor, NOW_MS)[0]?.kind;
  assert.equal(first({ fromMs: atMs, toMs: atMs + 1 }), "instant");
  assert.equal(first({ fromMs: null, toMs: atMs }), "range");
  assert.equal(first({ fromMs: atMs + 1, toMs: null }), undefined);
});

test("an old task's list reads 14 months and no more", () => {
  const steps = planSteps(taskMadeAt("2020-01-01T00:00:00Z"), ALL, null, NOW_MS);
  assert.equal(monthsOf(steps).length, 14);
  assert.deepEqual([steps.at(0)?.month, steps.at(-1)?.month], [202611, 202510]);
});

test("what cannot have expired is read by the month; below, by the hour first, then as much as all before", () => {
  const lengthsOf = (madeAt: string, before: number | null) => {
    const task = taskMadeAt(madeAt);
    const cursor = before === null ? null : makeJobId(before, task, 0);
    return planSteps(task, ALL, cursor, NOW_MS).map((step) =>
      step.kind === "range" ? (step.toMs - step.fromMs) / HOUR_MS : 0,
    );
  };
  const keptFrom = "2026-10-15T12:00:00Z";
  assert.deepEqual(lengthsOf("2026-10-30T00:00:00Z", null), [30 * 24, 3 * 24]);
  assert.deepEqual(lengthsOf("2026-10-13T12:00:00Z", null), [
    30 * 24,
    16 * 24 + 12,
    1,
    2,
    4,
    8,
    16,
    32,
    9,
  ]);
  // From a cursor on, again; a month's border does not make a range longer than what was read before it.
  const cursor = Date.parse("2026-10-01T05:00:00Z");
  assert(cursor < Date.parse(keptFrom));
  assert.deepEqual(lengthsOf("2026-10-01T00:00:00Z", cursor), [1, 2, 2, 6, 12, 6]);
});

test("a filter outside of what can be reads nothing", () => {
  const task = taskMadeAt("2026-09-20T00:00:00Z");
  const from = (at: string) => ({ fromMs: Date.parse(at), toMs: null });
  assert.deepEqual(planSteps(task, from("2027-02-01T00:00:00Z"), null, NOW_MS), []);
  const to = { fromMs: null, toMs: Date.parse("2026-09-01T00:00:00Z") };
  assert.deepEqual(planSteps(task, to, null, NOW_MS), []);
  assert.deepEqual(planSteps(task, { fromMs: 0, toMs: 0 }, null, NOW_MS), []);
});

test("a cursor goes on with the smaller ids of its instant, then below it", () => {
  const task = taskMadeAt("2026-11-10T00:00:00Z");
  const atMs = Date.parse("2026-11-12T00:00:00Z");
  const before = makeJobId(atMs, task, 5);
  const [instant, range] = planSteps(task, ALL, before, NOW_MS);
  assert.deepEqual(instant, { kind: "instant", month: 202611, atMs, below: before });
  assert.equal(range?.kind === "range" && range.toMs, atMs);
  // The smallest id of its instant: there is nothing of that instant left.
  const first = planSteps(task, ALL, makeJobId(atMs, task, 0), NOW_MS);
  assert.deepEqual(
    first.map(({ kind }) => kind),
    ["range"],
  );
});

test("steps cover the range asked for once, newest first, each within its month", () => {
  const instant = fc.integer({ min: NOW_MS - 500 * DAY_MS, max: NOW_MS + 60 * DAY_MS });
  const cursor = fc.option(fc.tuple(instant, fc.integer({ min: 0, max: 3 })));
  fc.assert(
    fc.property(
      fc.option(instant),
      fc.option(instant),
      cursor,
      instant,
      (fromMs, toMs, at, madeAtMs) => {
        const task = makeTaskId(madeAtMs, 1, new Uint8Array(8));
        const before = at === null ? null : makeJobId(at[0], task, at[1]);
        const steps = planSteps(task, { fromMs, toMs }, before, NOW_MS);
        for (const step of steps) {
          const [lowMs, highMs] =
            step.kind === "range" ? [step.fromMs, step.toMs] : [step.atMs, step.atMs + 1];
          assert(lowMs < highMs);
          assert.equal(monthOf(lowMs), step.month);
          assert.equal(monthOf(highMs - 1), step.month);
          assert(fromMs === null || lowMs >= fromMs);
          assert(toMs === null || highMs <= toMs);
          assert(before === null || cursorAfter(step, task) < before);
        }
        const ranges = steps.filter((step) => step.kind === "range");
        for (const [index, range] of ranges.slice(1).entries()) {
          assert.equal(range.toMs, ranges[index]?.fromMs, "no gap between two partitions");
        }
      },
    ),
  );
});
