/** What becomes of a job, in every state, by what its task, the caller or a limit does. */
import { describe } from "node:test";
import {
  ended,
  LATER,
  LINE,
  NOW,
  type Row,
  TASK_EVENTS,
  testEvents,
} from "#test/support/job-states.ts";
import { REASON_CANCELLED, REASON_DELETED, REASON_PAUSED } from "./job.ts";
import { FROZEN_MS } from "./limits.ts";

const BACK = { status: "pending", workerId: null } as const;
/** By a resume, after two attempts. */
const RENEWED = { taskVersion: 9, timeoutMs: 7_000, maxAttempts: 10 };
const LINED_UP = { status: "waiting", limitKey: LINE } as const;

const cancels = (reason: string): Row => ({
  "pending: planned": ended("cancelled", reason, LATER),
  "pending: planned, just not frozen": ended("cancelled", reason, NOW + FROZEN_MS + 1),
  "pending: frozen": ended("cancelled", reason, NOW + FROZEN_MS),
  "pending: due": ended("cancelled", reason),
  "pending: claimed before": ended("cancelled", reason, LATER),
  "pending: retried": ended("cancelled", reason),
  "pending: rescued": ended("cancelled", reason),
  "pending: manual": ended("cancelled", reason, LATER),
  "pending: catch-up": ended("cancelled", reason, LATER),
  "waiting: planned": ended("cancelled", reason, LATER),
  "waiting: rescued": ended("cancelled", reason),
  running: { cancelReason: reason },
  "running: ahead of its time": { cancelReason: reason },
  "running: last attempt": { cancelReason: reason },
  "running: fifth attempt, one lost": { cancelReason: reason },
  "running: lost four times": { cancelReason: reason },
});

const replacesMarks = (reason: string): Row => ({
  "running: paused": { cancelReason: reason },
  "running: deleted": { cancelReason: reason },
  "running: last attempt, paused": { cancelReason: reason },
  "running: lost four times, paused": { cancelReason: reason },
});

/** What each event makes of each state. A pair that is not here is refused. */
const TABLE: Record<keyof typeof TASK_EVENTS, Row> = {
  pause: cancels(REASON_PAUSED),
  delete: { ...cancels(REASON_DELETED), ...replacesMarks(REASON_DELETED) },
  "cancel by the caller": { ...cancels(REASON_CANCELLED), ...replacesMarks(REASON_CANCELLED) },
  resume: {
    "running: paused": { cancelReason: null },
    "running: last attempt, paused": { cancelReason: null },
    "running: lost four times, paused": { cancelReason: null },
    "cancelled: paused, never claimed, ahead": "removed",
    "cancelled: paused, claimed, ahead": {
      ...BACK,
      ...RENEWED,
      runAtMs: LATER,
      dueAtMs: LATER,
      reason: null,
      cancelReason: null,
      finishedAtMs: null,
    },
    "cancelled: paused, holder named, ahead": {
      ...BACK,
      ...RENEWED,
      runAtMs: LATER,
      dueAtMs: LATER,
      reason: null,
      cancelReason: null,
      finishedAtMs: null,
    },
  },
  "remove planned": {
    "pending: planned": "removed",
    "pending: planned, just not frozen": "removed",
    "waiting: planned": "removed",
  },
  retry: {
    dead: {
      ...BACK,
      lost: 0,
      maxAttempts: 8,
      runAtMs: NOW,
      dueAtMs: NOW,
      reason: null,
      finishedAtMs: null,
    },
    "dead: holder named": {
      ...BACK,
      lost: 0,
      maxAttempts: 5,
      runAtMs: NOW,
      dueAtMs: NOW,
      reason: null,
      finishedAtMs: null,
    },
  },
  "line up": {
    "pending: planned": LINED_UP,
    "pending: planned, just not frozen": LINED_UP,
    "pending: frozen": LINED_UP,
    "pending: due": LINED_UP,
    "pending: claimed before": LINED_UP,
    "pending: retried": LINED_UP,
    "pending: manual": LINED_UP,
    "pending: catch-up": LINED_UP,
    "waiting: planned": {},
    "waiting: rescued": {},
  },
  "release limit": {
    "waiting: planned": { status: "pending", limitKey: null },
    "waiting: rescued": { status: "pending", limitKey: null, dueAtMs: NOW },
  },
};

describe("every state with every event of its task", () => testEvents(TASK_EVENTS, TABLE));
