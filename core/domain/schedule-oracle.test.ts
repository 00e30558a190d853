/**
 * Our cron against an oracle of brute force, and the invariants that hold for every zone at every change of its clocks.
 * CI runs a seeded sample of cases, and all changes; CRON_ORACLE_CASES=10000 and CRON_SEED run more.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "#test/support/cron-oracle.ts";
import {
  casesWanted,
  changesOf,
  oracleCron,
  oracleNext,
  randomExpression,
  randomFrom,
  seedWanted,
  wallAt,
} from "#test/support/cron-oracle.ts";
import { readCron } from "./cron-fields.ts";
import type { CompiledSchedule } from "./schedule.ts";
import { compileSchedule, parseSchedule } from "./schedule.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ZONES = Intl.supportedValuesOf("timeZone");
const SEED = seedWanted();

/** Null when the expression is refused, which must then be because it never fires. */
function compiled(expression: string, timezone: string): CompiledSchedule | null {
  const parsed = parseSchedule({ type: "cron", expression, timezone });
  if (parsed.kind === "ok") return compileSchedule(parsed.schedule);
  assert.match(parsed.problems[0]?.message ?? "", /never fires/, expression);
  return null;
}

test("the oracle is right about what a person can check", () => {
  const zone = "America/New_York";
  const next = (expression: string, after: string, hours = 30) => {
    const run = oracleNext(
      expression,
      zone,
      Date.parse(after),
      Date.parse(after) + hours * HOUR_MS,
    );
    return run === null ? null : new Date(run).toISOString();
  };
  assert.equal(next("30 2 * * *", "2026-03-07T12:00:00Z"), "2026-03-08T07:00:00.000Z");
  assert.equal(next("30 2 * * *", "2026-03-08T07:00:00Z"), "2026-03-09T06:30:00.000Z");
  assert.equal(next("30 1 * * *", "2026-11-01T05:30:00Z"), "2026-11-02T06:30:00.000Z");
  assert.equal(next("*/30 1 * * *", "2026-11-01T05:30:00Z"), "2026-11-01T06:00:00.000Z");
  assert.equal(next("0 9 13 * 5", "2026-02-06T15:00:00Z"), null);
  assert.deepEqual(
    changesOf(zone, Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)).map(({ atMs }) =>
      new Date(atMs).toISOString(),
    ),
    ["2026-03-08T07:00:00.000Z", "2026-11-01T06:00:00.000Z"],
  );
});

test("random expressions around the changes of 2024 to 2026, in every zone", (t) => {
  const cases = casesWanted("CRON_ORACLE_CASES", 1_500);
  const random = randomFrom(SEED);
  const changes = new Map<string, Change[]>();
  let fired = 0;
  let compared = 0;
  for (let index = 0; index < cases; index += 1) {
    const zone = ZONES[index % ZONES.length] as string;
    const known = changes.get(zone) ?? changesOf(zone, Date.UTC(2024, 0, 1), Date.UTC(2027, 0, 1));
    changes.set(zone, known);
    const middleMs =
      known.length > 0
        ? (known[random(known.length)] as Change).atMs
        : Date.UTC(2024, 0, 1) + random(3 * 365 * 24) * HOUR_MS;
    const expression = randomExpression(random, wallAt(zone, middleMs));
    const afterMs = middleMs - 26 * HOUR_MS + random(30 * 3_600) * 1_000;
    const untilMs = afterMs + 30 * HOUR_MS;
    const ours = compiled(expression, zone)?.next(afterMs) ?? null;
    const oracle = oracleNext(expression, zone, afterMs, untilMs);
    const oursInReach = ours !== null && ours <= untilMs ? ours : null;
    assert.equal(
      oursInReach,
      oracle,
      `${expression} in ${zone} after ${new Date(afterMs).toISOString()} (seed ${SEED}, case ${index})`,
    );
    compared += 1;
    if (oracle !== null) fired += 1;
  }
  t.diagnostic(`${compared} cases, 0 wrong; ${fired} fired within reach; seed ${SEED}`);
  assert.equal(compared, cases);
  assert.ok(fired > cases / 3, "most cases meet a run");
});

test("days, months and years ahead, against a walk over days", () => {
  const random = randomFrom(SEED + 1);
  for (let index = 0; index < 1_000; index += 1) {
    const startMs = Date.UTC(2024, 0, 1) + random(1_500) * DAY_MS;
    const [day = "", month = "", weekday = ""] = randomExpression(random, startMs)
      .split(" ")
      .slice(-3);
    const expression = `0 0 ${day} ${month} ${weekday}`;
    const { secondsAt } = oracleCron(expression);
    const ours = compiled(expression, "UTC")?.next(startMs) ?? null;
    let dayMs = startMs + DAY_MS;
    const untilMs = startMs + 3_000 * DAY_MS;
    while (dayMs < untilMs && secondsAt(dayMs).length === 0) dayMs += DAY_MS;
    const oursInReach = ours !== null && ours < untilMs ? ours : untilMs;
    assert.equal(oursInReach, dayMs, `${expression} after ${new Date(startMs).toISOString()}`);
  }
});

test("an expression is refused as never firing only when no day of 400 years matches", () => {
  const random = randomFrom(SEED + 2);
  // Only the ends of months are asked for, so only they are walked.
  const ends = Array.from({ length: 4_800 }, (_, month) =>
    [29, 30, 31]
      .map((day) => Date.UTC(2001, month, day))
      .filter((dayMs) => new Date(dayMs).getUTCDate() > 28),
  ).flat();
  let never = 0;
  for (let index = 0; index < 100; index += 1) {
    const day = 29 + random(3);
    const expression = `0 0 ${day} ${[2, 4, 6, "2,4", "4,6", "2,3"][random(6)]} */${1 + random(7)}`;
    const { secondsAt } = oracleCron(expression);
    const matches = ends.some((dayMs) => secondsAt(dayMs).length > 0);
    assert.equal(readCron(expression).kind === "ok", matches, expression);
    if (!matches) never += 1;
  }
  assert.ok(never > 10, "some never fire");
});

/** The runs in (fromMs, untilMs], 400 at most, checking that each call moves on. */
function runsBetween(schedule: CompiledSchedule, fromMs: number, untilMs: number): number[] {
  const runs: number[] = [];
  let atMs = fromMs;
  while (runs.length < 400) {
    const next = schedule.next(atMs);
    if (next === null || next > untilMs) break;
    assert.ok(next > atMs, "next(t) > t");
    runs.push(next);
    atMs = next;
  }
  return runs;
}

test("invariants at the changes of 2020 to 2030, in every zone", (t) => {
  const random = randomFrom(SEED + 3);
  let checked = 0;
  for (const zone of ZONES) {
    for (const change of changesOf(zone, Date.UTC(2020, 0, 1), Date.UTC(2031, 0, 1))) {
      const expression = randomExpression(random, change.atMs + change.fromMs);
      const schedule = compiled(expression, zone);
      if (schedule === null) continue;
      checkInvariants(schedule, expression, change, random);
      checked += 1;
    }
  }
  t.diagnostic(`${checked} pairs of a change and an expression; seed ${SEED + 3}`);
  assert.ok(checked > 2_000);
});

function checkInvariants(
  schedule: CompiledSchedule,
  expression: string,
  { zone, atMs, fromMs, toMs }: Change,
  random: (below: number) => number,
): void {
  const about = `${expression} in ${zone} around ${new Date(atMs).toISOString()}`;
  const { wild, secondsAt } = oracleCron(expression);
  const beginMs = atMs - 6 * HOUR_MS - random(20 * 3_600) * 1_000;
  const runs = runsBetween(schedule, beginMs, atMs + DAY_MS);
  const endMs = runs.length < 400 ? atMs + DAY_MS : (runs.at(-1) as number);

  // t ≤ u < next(t) ⇒ next(u) = next(t).
  const edges = [beginMs, ...runs];
  for (let picks = 0; picks < 10 && runs.length > 0; picks += 1) {
    const at = random(runs.length);
    const [t, next] = [edges[at] as number, runs[at] as number];
    const u = t + random(Math.min(next - t, 2 ** 31));
    for (const between of [u, next - 1]) assert.equal(schedule.next(between), next, about);
  }

  // No wall time that matches and exists once is left out.
  const known = new Set(runs);
  for (let picks = 0; picks < 200; picks += 1) {
    const minuteMs = Math.ceil(beginMs / 60_000) * 60_000 + random(1_440) * 60_000;
    const wallMs = minuteMs + (minuteMs < atMs ? fromMs : toMs);
    const isTwice = wallMs >= atMs + toMs && wallMs < atMs + fromMs;
    for (const second of isTwice ? [] : secondsAt(wallMs)) {
      const runMs = minuteMs + second * 1_000;
      if (runMs > beginMs && runMs <= endMs) assert.ok(known.has(runMs), about);
    }
  }

  // A fixed cron runs at most once per wall time.
  if (wild) return;
  const walls = new Set(runs.map((runMs) => wallAt(zone, runMs)));
  assert.equal(walls.size, runs.length, about);
}
