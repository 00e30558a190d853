import assert from "node:assert/strict";
import { test } from "node:test";
import { firstRunOfNewTask } from "./first-run.ts";

test("a new one-off whose time has passed runs at once where its window is open now, and not at all where it is not", () => {
  const nowMs = Date.parse("2026-06-01T12:00:00Z");
  const schedule = { type: "at" as const, at: "2026-06-01T11:00:00Z" };
  const first = (startAtMs: number | null, endAtMs: number | null) =>
    firstRunOfNewTask({ schedule, startAtMs, endAtMs }, nowMs).kind === "run";
  const windows: [number | null, number | null, boolean][] = [
    [null, null, true],
    [nowMs, null, true],
    [nowMs - 1, nowMs + 1, true],
    [null, nowMs + 1, true],
    [null, nowMs, false],
    [nowMs + 1, null, false],
    [nowMs - 2, nowMs - 1, false],
  ];
  for (const [startAtMs, endAtMs, runs] of windows)
    assert.equal(first(startAtMs, endAtMs), runs, `${startAtMs} ${endAtMs}`);
});
