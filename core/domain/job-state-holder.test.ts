/** What becomes of a job, in every state, by what a worker does with it or leaves undone. */
import { describe } from "node:test";
import {
  ended,
  HOLDER_EVENTS,
  LATER,
  NOW,
  OTHER,
  type Outcome,
  RECORD,
  type Row,
  TIMEOUT,
  testEvents,
} from "#test/support/job-states.ts";
import { REASON_DELETED, REASON_LOST, REASON_PAUSED, REASON_USED_UP } from "./job.ts";
import { BACKSTOP_SLACK_MS, FROZEN_MS } from "./limits.ts";

const BACKSTOP = NOW + TIMEOUT + BACKSTOP_SLACK_MS;
const BACKSTOP_AHEAD = LATER + TIMEOUT + BACKSTOP_SLACK_MS;
const BACK = { status: "pending", workerId: null } as const;
const RECORDED = { attempts: { "1": { ...RECORD, attempt: 1 }, "2": RECORD }, workerId: null };
/** The records of a job that had none. */
const RECORDED_FIRST = { attempts: { "2": RECORD }, workerId: null };
const RECORDED_AGAIN = { attempts: { "1": RECORD, "2": RECORD }, workerId: null };
const LANE_1 = 33;
const again = { ...BACK, runAtMs: LATER, dueAtMs: LATER, queue: LANE_1 };

const taken = (claimNo: number, attempt: number, dueAtMs: number): Outcome => ({
  status: "running",
  workerId: OTHER,
  claimNo,
  attempt,
  dueAtMs,
});

/** What each event makes of each state. A pair that is not here is refused. */
const TABLE: Record<keyof typeof HOLDER_EVENTS, Row> = {
  claim: {
    "pending: planned": taken(1, 1, BACKSTOP_AHEAD),
    "pending: planned, just not frozen": taken(1, 1, BACKSTOP + FROZEN_MS + 1),
    "pending: frozen": taken(1, 1, BACKSTOP + FROZEN_MS),
    "pending: due": taken(1, 1, BACKSTOP),
    "pending: claimed before": taken(3, 1, BACKSTOP_AHEAD),
    "pending: retried": taken(3, 3, BACKSTOP_AHEAD),
    "pending: rescued": taken(3, 3, BACKSTOP),
    "pending: manual": taken(1, 1, BACKSTOP_AHEAD),
    "pending: catch-up": taken(1, 1, BACKSTOP_AHEAD),
  },
  "take with slots": {
    "waiting: planned": taken(1, 1, BACKSTOP_AHEAD),
    "waiting: rescued": taken(3, 3, BACKSTOP),
  },
  "give back": {
    running: { ...BACK, attempt: 1, dueAtMs: NOW },
    "running: ahead of its time": { ...BACK, attempt: 1, dueAtMs: LATER },
    "running: paused": { ...ended("cancelled", REASON_PAUSED), attempt: 1, workerId: null },
    "running: deleted": { ...ended("cancelled", REASON_DELETED), attempt: 1, workerId: null },
    "running: last attempt": { ...BACK, attempt: 4, dueAtMs: NOW },
    "running: last attempt, paused": {
      ...ended("cancelled", REASON_PAUSED),
      attempt: 4,
      workerId: null,
    },
    "running: fifth attempt, one lost": { ...BACK, attempt: 4, dueAtMs: NOW },
    "running: lost four times": { ...BACK, attempt: 5, dueAtMs: NOW },
    "running: lost four times, paused": {
      ...ended("cancelled", REASON_PAUSED),
      attempt: 5,
      workerId: null,
    },
  },
  "give back, stale": {},
  "give back, newer": {},
  "give back, stranger": {},
  interrupt: {
    running: { ...BACK, ...RECORDED, lost: 1, dueAtMs: NOW },
    "running: ahead of its time": { ...BACK, ...RECORDED, lost: 1, dueAtMs: LATER },
    "running: paused": { ...ended("cancelled", REASON_PAUSED), ...RECORDED, lost: 1 },
    "running: deleted": { ...ended("cancelled", REASON_DELETED), ...RECORDED, lost: 1 },
    "running: last attempt": { ...BACK, ...RECORDED, lost: 1, dueAtMs: NOW },
    "running: last attempt, paused": { ...ended("cancelled", REASON_PAUSED), ...RECORDED, lost: 1 },
    "running: fifth attempt, one lost": { ...BACK, ...RECORDED, lost: 2, dueAtMs: NOW },
    "running: lost four times": { ...ended("dead", REASON_LOST), ...RECORDED, lost: 5 },
    "running: lost four times, paused": {
      ...ended("cancelled", REASON_PAUSED),
      ...RECORDED,
      lost: 5,
    },
  },
  "interrupt, stale": {},
  "interrupt, stranger": {},
  succeed: {
    "pending: rescued": { ...ended("succeeded", null), ...RECORDED_FIRST },
    "waiting: rescued": { ...ended("succeeded", null), ...RECORDED_FIRST },
    running: { ...ended("succeeded", null), ...RECORDED },
    "running: ahead of its time": { ...ended("succeeded", null, LATER), ...RECORDED },
    "running: paused": { ...ended("succeeded", null), ...RECORDED },
    "running: deleted": { ...ended("succeeded", null), ...RECORDED },
    "running: last attempt": { ...ended("succeeded", null), ...RECORDED },
    "running: last attempt, paused": { ...ended("succeeded", null), ...RECORDED },
    "running: fifth attempt, one lost": { ...ended("succeeded", null), ...RECORDED },
    "running: lost four times": { ...ended("succeeded", null), ...RECORDED },
    "running: lost four times, paused": { ...ended("succeeded", null), ...RECORDED },
    "dead: holder named": { ...ended("succeeded", null), ...RECORDED_AGAIN },
    "cancelled: paused, holder named, ahead": {
      ...ended("succeeded", null, LATER),
      ...RECORDED_AGAIN,
    },
  },
  "succeed, stale": {},
  "succeed, newer": {},
  "succeed, stranger": {},
  fail: {
    "pending: rescued": { ...again, ...RECORDED_FIRST },
    "waiting: rescued": { ...again, ...RECORDED_FIRST, status: "waiting" },
    running: { ...again, ...RECORDED },
    "running: ahead of its time": { ...again, ...RECORDED },
    "running: paused": {
      ...ended("cancelled", REASON_PAUSED),
      ...RECORDED,
      runAtMs: LATER,
      queue: LANE_1,
    },
    "running: deleted": {
      ...ended("cancelled", REASON_DELETED),
      ...RECORDED,
      runAtMs: LATER,
      queue: LANE_1,
    },
    "running: last attempt": { ...ended("dead", REASON_USED_UP), ...RECORDED },
    "running: last attempt, paused": { ...ended("dead", REASON_USED_UP), ...RECORDED },
    "running: fifth attempt, one lost": { ...again, ...RECORDED },
    "running: lost four times": { ...again, ...RECORDED },
    "running: lost four times, paused": {
      ...ended("cancelled", REASON_PAUSED),
      ...RECORDED,
      runAtMs: LATER,
      queue: LANE_1,
    },
  },
  "fail, final": {
    "pending: rescued": { ...ended("dead", "gone"), ...RECORDED_FIRST },
    "waiting: rescued": { ...ended("dead", "gone"), ...RECORDED_FIRST },
    running: { ...ended("dead", "gone"), ...RECORDED },
    "running: ahead of its time": { ...ended("dead", "gone", LATER), ...RECORDED },
    "running: paused": { ...ended("dead", "gone"), ...RECORDED },
    "running: deleted": { ...ended("dead", "gone"), ...RECORDED },
    "running: last attempt": { ...ended("dead", "gone"), ...RECORDED },
    "running: last attempt, paused": { ...ended("dead", "gone"), ...RECORDED },
    "running: fifth attempt, one lost": { ...ended("dead", "gone"), ...RECORDED },
    "running: lost four times": { ...ended("dead", "gone"), ...RECORDED },
    "running: lost four times, paused": { ...ended("dead", "gone"), ...RECORDED },
  },
  "fail, stale": {},
  "fail, final, stale": {},
  "fail, stranger": {},
  rescue: {
    running: { status: "pending", lost: 1, dueAtMs: NOW },
    "running: ahead of its time": { status: "pending", lost: 1, dueAtMs: LATER },
    "running: paused": { ...ended("cancelled", REASON_PAUSED), lost: 1 },
    "running: deleted": { ...ended("cancelled", REASON_DELETED), lost: 1 },
    "running: last attempt": { status: "pending", lost: 1, dueAtMs: NOW },
    "running: last attempt, paused": { ...ended("cancelled", REASON_PAUSED), lost: 1 },
    "running: fifth attempt, one lost": { status: "pending", lost: 2, dueAtMs: NOW },
    "running: lost four times": { ...ended("dead", REASON_LOST), lost: 5 },
    "running: lost four times, paused": { ...ended("cancelled", REASON_PAUSED), lost: 5 },
  },
  "rescue, stale": {},
};

describe("every state with every event of a holder", () => testEvents(HOLDER_EVENTS, TABLE));
