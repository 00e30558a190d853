import assert from "node:assert/strict";
import { test } from "node:test";
import { recordResultsSql } from "#adapters/mysql/statements/record-results.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { makeJobId, makeTaskId, makeWorkerId } from "#core/domain/ids.ts";
import { FAILURE_BODY_BYTES_KEPT, RESULTS_GROUP_BYTES_MAX } from "#core/domain/limits.ts";
import type { GivenBack, JobResult, JobStore } from "#core/ports/job-store.ts";
import { Outbox } from "./outbox.ts";

const RETENTION = { succeededMs: 1, endedMs: 1 };
const TASK = makeTaskId(0, 7, new Uint8Array(8));
const WORKER = makeWorkerId(new Uint8Array(16));

function openOutbox(jobs: Partial<JobStore>): Outbox {
  const log = () => {};
  return new Outbox({
    jobs: jobs as JobStore,
    retention: RETENTION,
    metrics: { count: log, observeLagMs: log },
    logger: { info: log, warn: log, error: log },
  });
}

/** Writes `count` results with these answers; returns the groups that the store got. */
async function groupsOf(count: number, responseBody: string): Promise<JobResult[][]> {
  const groups: JobResult[][] = [];
  const outbox = openOutbox({
    async recordResults(results) {
      groups.push([...results]);
      return { written: results.length, lostRaces: 0 };
    },
  });
  for (let n = 0; n < count; n++) outbox.addResult(resultOf(n, responseBody));
  while (outbox.unwritten > 0) await outbox.flushOnce();
  return groups;
}

function resultOf(n: number, responseBody: string): JobResult {
  const record = {
    ...{ attempt: 1, startedAtMs: 1_700_000_000_000, lagMs: 4, durationMs: 81 },
    ...{ statusCode: 500, error: null, responseBody },
  };
  const retry = { retryAtMs: 1_700_000_000_000, retryQueue: 17, finalReason: null };
  const key = { id: makeJobId(n, TASK, 0), workerId: WORKER, claimNo: 1, limitKey: null };
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
      const bytes = Buffer.byteLength(recordResultsSql(ended, RETENTION, false));
      assert.ok(bytes <= RESULTS_GROUP_BYTES_MAX, `${bytes} bytes`);
    }
  }
});

/** Flushes up to `times`, as the loops that wait errors out do; how often they were told of one. */
async function flushing(outbox: Outbox, times: number): Promise<number> {
  let failures = 0;
  const failed = (error: unknown) => {
    assert.ok(error instanceof StoreUnavailable);
    failures++;
  };
  for (let n = 0; n < times && outbox.unwritten > 0; n++) {
    await outbox.flushOnce().catch(failed);
    for (const kind of ["results", "givenBack"] as const)
      await outbox.flushFailedOnce(kind).catch(failed);
  }
  return failures;
}

test("a database that can do nothing now gets all when it can again, each once, in whole groups before long", async () => {
  let isFull = true;
  const groups: number[] = [];
  const seen = new Set<string>();
  const outbox = openOutbox({
    async recordResults(results) {
      if (isFull) throw new StoreUnavailable("the table is full");
      groups.push(results.length);
      for (const { id } of results) {
        assert.ok(!seen.has(id));
        seen.add(id);
      }
      return { written: results.length, lostRaces: 0 };
    },
  });
  for (let n = 0; n < 15_000; n++) outbox.addResult(resultOf(n, ""));
  assert.equal(await flushing(outbox, 100), 200);
  assert.equal(outbox.unwritten, 15_000);
  isFull = false;
  assert.equal(await flushing(outbox, 200), 0);
  assert.equal(seen.size, 15_000);
  assert.ok(Math.max(...groups) >= 900, groups.join());
});

test("one that the database never takes, and does not refuse either, holds up no other, of its kind or the other", async () => {
  for (const poison of [0, 700, 1_999]) {
    const written = new Set<string>();
    const { id: never } = resultOf(poison, "");
    const write = async (group: readonly GivenBack[]) => {
      if (group.some(({ id }) => id === never)) throw new StoreUnavailable("cannot do it now");
      for (const { id } of group) written.add(id);
      return { written: group.length, lostRaces: 0 };
    };
    for (const verb of ["recordResults", "giveBack"] as const) {
      written.clear();
      const outbox = openOutbox({
        ...{ recordResults: async (group) => ({ written: group.length, lostRaces: 0 }) },
        ...{ giveBack: async (group) => ({ written: group.length, lostRaces: 0 }) },
        [verb]: write,
      });
      const all = Array.from({ length: 2_000 }, (_, n) => resultOf(n, ""));
      if (verb === "giveBack") outbox.addGivenBack(all);
      const other = resultOf(5_000, "");
      if (verb === "giveBack") outbox.addResult(other);
      else {
        for (const result of all) outbox.addResult(result);
        outbox.addGivenBack([other]);
      }
      await flushing(outbox, 20);
      assert.equal(written.size, 1_999, verb);
      assert.equal(outbox.unwritten, 1);
    }
  }
});
