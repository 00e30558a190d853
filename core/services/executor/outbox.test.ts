import assert from "node:assert/strict";
import { test } from "node:test";
import { recordResultsSql } from "#adapters/mysql/statements/record-results.ts";
import { makeJobId, makeTaskId, makeWorkerId } from "#core/domain/ids.ts";
import { FAILURE_BODY_BYTES_KEPT, RESULTS_GROUP_BYTES_MAX } from "#core/domain/limits.ts";
import type { JobResult, JobStore } from "#core/ports/job-store.ts";
import { Outbox } from "./outbox.ts";

const RETENTION = { succeededMs: 1, endedMs: 1 };
const TASK = makeTaskId(0, 7, new Uint8Array(8));
const WORKER = makeWorkerId(new Uint8Array(16));

/** Writes `count` results with these answers; returns the groups that the store got. */
async function groupsOf(count: number, responseBody: string): Promise<JobResult[][]> {
  const groups: JobResult[][] = [];
  const jobs = {
    async recordResults(results: readonly JobResult[]) {
      groups.push([...results]);
      return { written: results.length, lostRaces: 0 };
    },
  } as unknown as JobStore;
  const log = () => {};
  const outbox = new Outbox({
    jobs,
    retention: RETENTION,
    metrics: { count: log, observeLagMs: log },
    logger: { info: log, warn: log, error: log },
  });
  for (let n = 0; n < count; n++) outbox.addResult(resultOf(n, responseBody));
  while (outbox.waiting > 0) await outbox.flushOnce();
  return groups;
}

function resultOf(n: number, responseBody: string): JobResult {
  const record = {
    ...{ attempt: 1, startedAtMs: 1_700_000_000_000, lagMs: 4, durationMs: 81 },
    ...{ statusCode: 500, error: null, responseBody },
  };
  const retry = { retryAtMs: 1_700_000_000_000, retryQueue: 17, finalReason: null };
  const key = { id: makeJobId(n, TASK, 0), workerId: WORKER, claimNo: 1 };
  return { ...key, ...retry, record, kind: "fail", maybeDead: true };
}

test("a thousand results are one group, whatever order they came in", async () => {
  const groups = await groupsOf(2_500, "x".repeat(128));
  assert.deepEqual(
    groups.map(({ length }) => length),
    [1_000, 1_000, 500],
  );
  assert.equal(new Set(groups.flat().map(({ id }) => id)).size, 2_500);
});

test("what endpoints answer cannot make a group that a server refuses", async () => {
  for (const character of ["\u0000", "\\", "é", "'"]) {
    const groups = await groupsOf(1_000, character.repeat(FAILURE_BODY_BYTES_KEPT));
    assert.equal(groups.flat().length, 1_000);
    for (const group of groups) {
      const ended = group.flatMap((result) => (result.kind === "interrupt" ? [] : [result]));
      const bytes = Buffer.byteLength(recordResultsSql(ended, RETENTION));
      assert.ok(bytes <= RESULTS_GROUP_BYTES_MAX, `${bytes} bytes`);
    }
  }
});
