import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "./ids.ts";
import { makeJobId, makeTaskId } from "./ids.ts";
import type { Job } from "./job.ts";
import { REASON_PAUSED } from "./job.ts";
import { makeManualJob, makeScheduledJob, makeSkippedJob } from "./make-job.ts";
import type { DueTask } from "./task.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const RETENTION = { succeededMs: 1_000, endedMs: 2_000 };
const TASK: DueTask = {
  id: makeTaskId(NOW_MS, 7, new Uint8Array(8)),
  tenantId: "acme" as TenantId,
  schedule: { type: "every", seconds: 60, anchor: "1970-01-01T00:00:00.000Z" },
  priority: "high",
  catchUp: "all",
  startAtMs: null,
  endAtMs: null,
  nextRunAtMs: NOW_MS,
  requestVersion: 3,
  timeoutMs: 7_000,
  maxAttempts: 4,
};

/** What every job has that has just been made. */
const BLANK: Omit<Job, "id" | "trigger" | "status" | "scheduledAtMs" | "runAtMs" | "dueAtMs"> = {
  taskId: TASK.id,
  tenantId: TASK.tenantId,
  taskVersion: 3,
  priority: "high",
  queue: 16,
  claimNo: 0,
  attempt: 0,
  lost: 0,
  maxAttempts: 4,
  timeoutMs: 7_000,
  workerId: null,
  cancelReason: null,
  attempts: {},
  payload: null,
  finishedAtMs: null,
  reason: null,
  retryOf: null,
  covers: null,
  limitKey: null,
};

test("a planned run is pending until its time", () => {
  const atMs = NOW_MS + 25_000;
  assert.deepEqual(makeScheduledJob(TASK, "schedule", atMs, NOW_MS), {
    ...BLANK,
    id: makeJobId(atMs, TASK.id, 0),
    trigger: "schedule",
    status: "pending",
    scheduledAtMs: atMs,
    runAtMs: atMs,
    dueAtMs: atMs,
  });
});

test("a late run keeps its time and lane, and is due from now on; a missed one runs now, a lane down", () => {
  const atMs = NOW_MS - 50_000;
  const late = makeScheduledJob(TASK, "schedule", atMs, NOW_MS);
  assert.deepEqual([late.scheduledAtMs, late.runAtMs, late.dueAtMs], [atMs, atMs, NOW_MS]);
  assert.equal(late.queue, 16);
  const missed = makeScheduledJob(TASK, "catch_up", atMs, NOW_MS);
  assert.deepEqual([missed.scheduledAtMs, missed.runAtMs, missed.dueAtMs], [atMs, NOW_MS, NOW_MS]);
  assert.equal(missed.queue, 17);
  assert.equal(missed.id, late.id, "the same occurrence has one id, however it is made");
});

test("a manual run is due now, under its own run number, with its payload", () => {
  const payload = { body: "x" };
  assert.deepEqual(makeManualJob(TASK, "manual", NOW_MS, 513, payload), {
    ...BLANK,
    id: makeJobId(NOW_MS, TASK.id, 513),
    trigger: "manual",
    status: "pending",
    scheduledAtMs: NOW_MS,
    runAtMs: NOW_MS,
    dueAtMs: NOW_MS,
    payload,
  });
});

test("a run that does not happen ends at once; it is kept from its time on, or from now", () => {
  const covers = { count: 3, fromMs: NOW_MS - 9_000, toMs: NOW_MS - 7_000 };
  const options = { reason: REASON_PAUSED, run: 9, covers, nowMs: NOW_MS, retention: RETENTION };
  assert.deepEqual(makeSkippedJob(TASK, NOW_MS - 9_000, options), {
    ...BLANK,
    id: makeJobId(NOW_MS - 9_000, TASK.id, 9),
    trigger: "schedule",
    status: "cancelled",
    scheduledAtMs: NOW_MS - 9_000,
    runAtMs: NOW_MS - 9_000,
    dueAtMs: NOW_MS + RETENTION.endedMs,
    finishedAtMs: NOW_MS,
    reason: REASON_PAUSED,
    covers,
  });
  const ahead = makeSkippedJob(TASK, NOW_MS + 9_000, options);
  assert.equal(ahead.dueAtMs, NOW_MS + 9_000 + RETENTION.endedMs);
});
