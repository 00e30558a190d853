import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedCache } from "./bounded-cache.ts";
import {
  canonicalTimeZone,
  firstInstantAtWall,
  firstUnseenWall,
  type ZoneClock,
  zoneClock,
} from "./time-zone.ts";

const HOUR_MS = 3_600_000;

test("names are canonical by IANA, in any spelling and by any alias", () => {
  const cases: [string, string | null][] = [
    ["Europe/Madrid", "Europe/Madrid"],
    ["europe/MADRID", "Europe/Madrid"],
    ["Asia/Kolkata", "Asia/Kolkata"],
    ["Asia/Calcutta", "Asia/Kolkata"],
    ["Europe/Kiev", "Europe/Kyiv"],
    ["America/Godthab", "America/Nuuk"],
    ["US/Eastern", "America/New_York"],
    ["GB", "Europe/London"],
    ["Etc/UTC", "UTC"],
    ["Zulu", "UTC"],
    ["utc", "UTC"],
    ["Etc/GMT+5", "Etc/GMT+5"],
    ["local", null],
    ["system", null],
    ["UTC+5", null],
    ["GMT+5", null],
    ["+05:00", null],
    ["Z", null],
    ["Mars/Base", null],
    // ICU's own: Dhaka, Calcutta, Los Angeles.
    ["BST", null],
    ["IST", null],
    ["PST", null],
    ["constructor", null],
    ["__proto__", null],
  ];
  for (const [name, canonical] of cases) assert.equal(canonicalTimeZone(name), canonical, name);
});

test("every zone of Intl has a canonical name, which is its own", () => {
  const zones = Intl.supportedValuesOf("timeZone");
  assert.ok(zones.length > 400);
  for (const zone of zones) {
    const canonical = canonicalTimeZone(zone);
    assert.ok(canonical !== null, zone);
    assert.equal(canonicalTimeZone(canonical), canonical, zone);
    assert.equal(zoneClock(zone).name, canonical);
  }
});

test("no such zone is a RangeError", () => {
  assert.throws(() => zoneClock("Mars/Base"), RangeError);
});

test("a piece holds its instant and ends where the offset changes", () => {
  const clock = zoneClock("Europe/Madrid");
  const change = Date.parse("2026-03-29T01:00:00Z");
  assert.equal(clock.pieceAt(change - 1).offsetMs, HOUR_MS);
  assert.equal(clock.pieceAt(change - 1).endMs, change);
  assert.equal(clock.pieceAt(change).startMs, change);
  assert.equal(clock.pieceAt(change).offsetMs, 2 * HOUR_MS);
});

test("offsets with seconds, days left out, and changes a week apart", () => {
  const offset = (zone: string, instant: string) =>
    zoneClock(zone).pieceAt(Date.parse(instant)).offsetMs;
  assert.equal(offset("Africa/Monrovia", "1971-06-01T00:00:00Z"), -(44 * 60 + 30) * 1_000);
  assert.equal(offset("Africa/Monrovia", "1972-01-07T00:44:29Z"), -(44 * 60 + 30) * 1_000);
  assert.equal(offset("Africa/Monrovia", "1972-01-07T00:44:30Z"), 0);
  assert.equal(offset("America/Recife", "2000-10-08T02:59:59Z"), -3 * HOUR_MS);
  assert.equal(offset("America/Recife", "2000-10-12T00:00:00Z"), -2 * HOUR_MS);
  assert.equal(offset("America/Recife", "2000-10-15T02:00:00Z"), -3 * HOUR_MS);
  // 30 December 2011 does not exist in Samoa.
  assert.equal(
    firstInstantAtWall(zoneClock("Pacific/Apia"), Date.UTC(2011, 11, 30, 9)),
    Date.parse("2011-12-30T10:00:00Z"),
  );
});

test("zone data are of 2026c or later: in British Columbia and Alberta clocks no longer change", () => {
  const offset = (zone: string) =>
    zoneClock(zone).pieceAt(Date.parse("2026-12-01T12:00:00Z")).offsetMs;
  assert.equal(offset("America/Vancouver"), -7 * HOUR_MS);
  assert.equal(offset("America/Edmonton"), -6 * HOUR_MS);
});

test("offsets are those of Intl at random instants, far ahead too", () => {
  const zones = Intl.supportedValuesOf("timeZone");
  for (let index = 0; index < 2_000; index += 1) {
    const zone = zones[(index * 37) % zones.length] as string;
    const instantMs = ((index * 7_919) % 2_000) * 0.1 * 365 * 24 * HOUR_MS;
    const instant = Math.floor(instantMs / 1_000) * 1_000;
    const parts = new Intl.DateTimeFormat("sv-SE", {
      timeZone: zone,
      dateStyle: "short",
      timeStyle: "medium",
    }).format(instant);
    const wallMs = Date.parse(`${parts.replace(" ", "T")}Z`);
    assert.equal(zoneClock(zone).pieceAt(instant).offsetMs, wallMs - instant, `${zone} ${instant}`);
  }
});

test("walls and instants in a gap and in a repeated hour", () => {
  const clock = zoneClock("America/New_York");
  const at = (wall: string) =>
    new Date(firstInstantAtWall(clock, Date.parse(`${wall}Z`))).toISOString();
  assert.equal(at("2026-03-08T01:59:59"), "2026-03-08T06:59:59.000Z");
  assert.equal(at("2026-03-08T02:30:00"), "2026-03-08T07:00:00.000Z");
  assert.equal(at("2026-03-08T03:00:00"), "2026-03-08T07:00:00.000Z");
  assert.equal(at("2026-11-01T01:30:00"), "2026-11-01T05:30:00.000Z");
  assert.equal(at("2026-11-01T02:00:00"), "2026-11-01T07:00:00.000Z");
  const unseen = (instant: string) => new Date(firstUnseenWall(clock, Date.parse(instant)));
  assert.equal(unseen("2026-11-01T05:30:00Z").toISOString(), "2026-11-01T01:30:00.001Z");
  assert.equal(unseen("2026-11-01T06:30:00Z").toISOString(), "2026-11-01T02:00:00.000Z");
  assert.equal(unseen("2026-11-01T07:00:00Z").toISOString(), "2026-11-01T02:00:00.001Z");
});

test("a wall time is unseen after a change however time is cut into pieces", () => {
  const hours = (at: number) => at * HOUR_MS;
  const ends = [10, 10.5, 11, 24, Number.POSITIVE_INFINITY];
  const cut: ZoneClock = {
    name: "cut",
    pieceAt(instantMs) {
      const at = ends.findIndex((end) => instantMs < hours(end));
      const startMs = at === 0 ? Number.NEGATIVE_INFINITY : hours(ends[at - 1] ?? 0);
      return { startMs, endMs: hours(ends[at] ?? 0), offsetMs: at === 0 ? hours(2) : hours(1) };
    },
  };
  for (const [instant, unseen] of [
    [9.5, hours(11.5) + 1],
    [10, hours(12)],
    [10.75, hours(12)],
    [11, hours(12) + 1],
    [11.5, hours(12.5) + 1],
  ] as const)
    assert.equal(firstUnseenWall(cut, hours(instant)), unseen);
});

test("a bounded cache forgets what was used longest ago", () => {
  const cache = new BoundedCache<string, string>(2);
  const made: string[] = [];
  const get = (key: string) =>
    cache.getOrMake(key, () => {
      made.push(key);
      return key.toUpperCase();
    });
  for (const key of ["a", "b", "a", "c", "a", "b"]) assert.equal(get(key), key.toUpperCase());
  assert.deepEqual(made, ["a", "b", "c", "b"]);
  assert.equal(cache.size, 2);
  assert.throws(() =>
    cache.getOrMake("d", () => {
      throw new Error("not made");
    }),
  );
  assert.equal(cache.size, 2);
});
