/** Timestamps of writes: Amazon Keyspaces takes them however late a copy is, and of two ends of a job the later is above. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { entryOf, finishedJob, makeOwner } from "#test/contract/history-entries.ts";
import { timestampRefusedByKeyspaces } from "#test/support/keyspaces-rules.ts";
import { insertParams } from "./rows.ts";

const DAY_MS = 86_400_000;
const ENDED_AT_MS = Date.UTC(2026, 5, 1, 9, 0, 0);
const owner = makeOwner(ENDED_AT_MS - DAY_MS);

interface End {
  readonly finishedAtMs: number;
  readonly dueAtMs: number;
  readonly claimNo: number;
}

function timestampUs(end: End, nowMs: number): number {
  const job = finishedJob(owner, ENDED_AT_MS - 60_000, end);
  return Number(insertParams(entryOf(job), nowMs).at(-1));
}

/** Of trials, of successes, of deaths, and the longest that can be set. */
const retention = fc.constantFrom(0, 60_000, 3_600_000, 14 * DAY_MS, 365 * DAY_MS);
/** A usual copy, one behind a backlog of hours, and one after weeks without an archiver. */
const late = fc.oneof(fc.nat(60_000), fc.nat(DAY_MS), fc.nat(100 * DAY_MS));
const claims = fc.nat(3);

test("Keyspaces takes the timestamp of a copy, however long its job was kept and however late it is", () => {
  fc.assert(
    fc.property(retention, late, claims, (keptMs, lateMs, claimNo) => {
      const dueAtMs = ENDED_AT_MS + keptMs;
      const nowMs = dueAtMs + lateMs;
      const written = timestampUs({ finishedAtMs: ENDED_AT_MS, dueAtMs, claimNo }, nowMs);
      assert.equal(timestampRefusedByKeyspaces(written, nowMs), null);
    }),
  );
});

test("a later end is above every copy of an earlier one, also one that a release before wrote as of the end", () => {
  const minutes = fc.nat(15 * 60_000);
  fc.assert(
    fc.property(
      fc.record({ keptMs: retention, nextKeptMs: retention, claimNo: claims, nextClaims: claims }),
      fc.record({ lateMs: late, nextLateMs: late, copyMs: minutes, runMs: minutes }),
      ({ keptMs, nextKeptMs, claimNo, nextClaims }, { lateMs, nextLateMs, copyMs, runMs }) => {
        const first = { finishedAtMs: ENDED_AT_MS, dueAtMs: ENDED_AT_MS + keptMs, claimNo };
        const readAtMs = first.dueAtMs + lateMs;
        // Retried at once after it was read; the copy arrives when it will.
        const finishedAtMs = readAtMs + 1 + runMs;
        const dueAtMs = finishedAtMs + nextKeptMs;
        const next = { finishedAtMs, dueAtMs, claimNo: claimNo + nextClaims };
        const written = timestampUs(first, readAtMs + copyMs);
        const writtenNext = timestampUs(next, dueAtMs + nextLateMs);
        assert.ok(writtenNext > written);
        const asOfEnd = ({ finishedAtMs, claimNo }: End) => finishedAtMs * 1_000 + claimNo;
        assert.ok(writtenNext > asOfEnd(first), "an older release wrote the first end");
        assert.ok(asOfEnd(next) > written, "an older release, still at work, writes the next one");
      },
    ),
  );
});
