/** What holds for every state and every event: there are all of them, under limits too; records, and the way into history. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  CONTEXT,
  HOLDER_EVENTS,
  LINE,
  NOW,
  PRESENT,
  RECORD,
  running,
  STATES,
  TASK_EVENTS,
} from "#test/support/job-states.ts";
import type { LimitKey } from "./call-limit.ts";
import type { Job } from "./job.ts";
import { JOB_STATUSES } from "./job.ts";
import type { JobEvent } from "./job-state.ts";
import { applyEvent, isFinished } from "./job-state.ts";
import { ATTEMPT_RECORDS_MAX } from "./limits.ts";

const EVENTS = { ...HOLDER_EVENTS, ...TASK_EVENTS };

describe("every state with every event", () => {
  test("the states are of every status, and the events of every kind", () => {
    const statuses = new Set(Object.values(STATES).map(({ status }) => status));
    assert.deepEqual([...statuses].sort(), [...JOB_STATUSES].sort());
    const kinds: Record<JobEvent["kind"], number> = {
      claim: 1,
      "take-with-slots": 1,
      "give-back": 4,
      interrupt: 3,
      succeed: 4,
      fail: 5,
      rescue: 2,
      cancel: 3,
      resume: 1,
      "remove-planned": 1,
      retry: 1,
      "line-up": 1,
      "release-limit": 1,
      archive: 0,
    };
    for (const [kind, count] of Object.entries(kinds)) {
      const listed = Object.values(EVENTS).filter((event) => event.kind === kind);
      assert.equal(listed.length, count, kind);
    }
  });

  test("of a task with a limit, whatever would be pending again is waiting", () => {
    for (const [eventName, free] of Object.entries(EVENTS)) {
      const event = "limitKey" in free ? { ...free, limitKey: LINE } : free;
      for (const [stateName, before] of Object.entries(STATES)) {
        const told = `${stateName} + ${eventName}`;
        const without = applyEvent({ ...before, limitKey: null }, free, CONTEXT);
        const within = applyEvent({ ...before, limitKey: LINE }, event, CONTEXT);
        assert.equal(within.kind, without.kind, told);
        if (within.kind !== "moved" || without.kind !== "moved") continue;
        const { status } = without.job;
        const expected = { ...without.job, status: status === "pending" ? "waiting" : status };
        assert.deepEqual(within.job, { ...expected, limitKey: LINE }, told);
      }
    }
  });

  test("a resume gives a job the line of its task as it is by then, a release that of its tenant or none", () => {
    const other = "acme" as LimitKey;
    const resumed = applyEvent(
      { ...STATES["cancelled: paused, claimed, ahead"], limitKey: LINE },
      { kind: "resume", ...PRESENT, limitKey: other },
      CONTEXT,
    );
    assert(resumed.kind === "moved");
    assert.deepEqual([resumed.job.status, resumed.job.limitKey], ["waiting", other]);
    const waiting = STATES["waiting: rescued"];
    for (const limitKey of [other, null]) {
      const released = applyEvent(waiting, { kind: "release-limit", limitKey }, CONTEXT);
      const status = limitKey === null ? "pending" : "waiting";
      const job = { ...waiting, status, limitKey, dueAtMs: NOW };
      assert.deepEqual(released, { kind: "moved", job });
    }
  });
});

test("the newest records are kept: with as many as there may be, the lowest claim goes", () => {
  const kept = (claims: readonly number[]) => {
    const attempts = Object.fromEntries(claims.map((claimNo) => [claimNo, RECORD]));
    const before = running({ attempts, claimNo: 200 });
    const after = applyEvent(before, { ...EVENTS.succeed, claimNo: 200 }, CONTEXT);
    assert(after.kind === "moved");
    return Object.keys(after.job.attempts).map(Number);
  };
  const claims = [3, 7, ...Array.from({ length: ATTEMPT_RECORDS_MAX - 2 }, (_, i) => 90 + i)];
  assert.deepEqual(kept(claims), [...claims.slice(1), 200]);
  assert.deepEqual(kept(claims.slice(1)), [...claims.slice(1), 200]);
});

describe("archive", () => {
  const asRead = ({ status, claimNo, dueAtMs }: Job): JobEvent => {
    return { kind: "archive", status, claimNo, dueAtMs };
  };

  test("finished and due: removed; any other status is refused", () => {
    for (const [name, state] of Object.entries(STATES)) {
      const before = { ...state, dueAtMs: NOW };
      const kind = isFinished(state.status) ? "removed" : "refused";
      assert.equal(applyEvent(before, asRead(before), CONTEXT).kind, kind, name);
    }
  });

  test("not due yet, or changed since it was read: refused", () => {
    for (const [name, before] of Object.entries(STATES)) {
      if (!isFinished(before.status)) continue;
      const early = { ...before, dueAtMs: NOW + 1 };
      const changed: Job[] = [
        { ...before, claimNo: before.claimNo + 1 },
        { ...before, dueAtMs: before.dueAtMs - 1 },
        { ...before, status: before.status === "dead" ? "succeeded" : "dead" },
      ];
      assert.equal(applyEvent(early, asRead(early), CONTEXT).kind, "refused", name);
      for (const now of changed) {
        assert.equal(applyEvent(now, asRead(before), CONTEXT).kind, "refused", name);
      }
    }
  });
});
