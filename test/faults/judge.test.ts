/** The judge sees what it is there for: each thing that must not happen, planted into a run in which all is well. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type LoadTask, seededTaskId, seededUnit, tenantNamed } from "#bench/load-model.ts";
import { type JobId, makeJobId } from "#core/domain/ids.ts";
import type { AttemptRecord } from "#core/domain/job.ts";
import type { SinkCall } from "#test/support/sink.ts";
import { type Evidence, type JobSeen, judge, type Verdict } from "./judge.ts";
import type { Expected } from "./load.ts";

const AT = 1_000_000;
const URL_OK = "http://sink/ok/0/0/0";

const tenantId = tenantNamed("t");
const task: LoadTask = {
  id: seededTaskId(tenantId, AT, seededUnit(1)),
  tenantId,
  priority: 0,
  schedule: { type: "every", seconds: 20, anchor: new Date(AT).toISOString() },
  nextRunAtMs: AT,
  url: URL_OK,
  timeoutMs: 10_000,
};

const record = (attempt: number, statusCode: number | null): AttemptRecord => ({
  ...{ attempt, startedAtMs: AT, lagMs: 1, durationMs: 1, statusCode },
  ...{ error: statusCode === null ? "timeout" : null, responseBody: null },
});

const call = (attempt: number, afterMs: number, status: number | null = 200): SinkCall => ({
  ...{ key: "", attempt, arrivedAtMs: AT + afterMs, scheduledAt: "", method: "POST", path: "" },
  ...{ bodyBytes: 0, bodySha256: "", headers: {} },
  answer: status === null ? null : { status, atMs: AT + afterMs + 1 },
});

const succeeded: JobSeen = {
  ...{ status: "succeeded", claimNo: 1, lost: 0, reason: null },
  attempts: { 1: record(1, 200) },
};

interface Planted {
  readonly job?: Partial<JobSeen> | null;
  readonly calls?: readonly SinkCall[];
  readonly url?: string;
}

function verdictOf({ job = {}, calls = [call(1, 5)], url = URL_OK }: Planted): Verdict {
  const id: JobId = makeJobId(AT, task.id, 0);
  const expected: Expected = { id, scheduledAtMs: AT, priority: 0, url, task: { ...task, url } };
  const evidence: Evidence = {
    expected: [expected],
    jobs: new Map(job === null ? [] : [[id, { ...succeeded, ...job }]]),
    calls: new Map([[id, calls]]),
    brokenAtMs: AT - 1_000,
    mendedAtMs: AT + 1_000,
  };
  return judge(evidence);
}

const CLEAN = { lost: 0, duplicates: 0, repeated: 0, cut: 0, early: 0, wrong: 0, recoveryMs: 0 };
const DEAD = {
  status: "dead",
  reason: "attempts used up",
  attempts: { 1: record(1, 500) },
} as const;

const PLANTED: Readonly<Record<string, readonly [Planted, Partial<Verdict>]>> = {
  "all is well": [{}, { criticalP99Ms: 5, criticalMaxMs: 5 }],
  "no row": [{ job: null }, { lost: 1 }],
  "a row that never ended": [{ job: { status: "running", attempts: {} } }, { lost: 1 }],
  "a success without a call": [{ calls: [] }, { lost: 1, criticalP99Ms: Number.NaN }],
  "a success of a call that was answered otherwise": [{ calls: [call(1, 5, 500)] }, { lost: 1 }],
  "the same attempt twice": [{ calls: [call(1, 5), call(1, 5)] }, { duplicates: 1 }],
  "a call after the answer": [{ calls: [call(1, 5), call(2, 50)] }, { repeated: 1 }],
  "one after the answer that fails, and its retry": [
    {
      job: { claimNo: 3, attempts: { 2: record(2, 500), 3: record(3, 200) } },
      calls: [call(1, 5), call(2, 50, 500), call(3, 90)],
    },
    { repeated: 1 },
  ],
  "a call whose caller was gone": [{ calls: [call(1, 5, null), call(2, 50)] }, { cut: 1 }],
  "a call before its time": [{ calls: [call(1, -100)] }, { early: 1 }],
  "a late call after the mending": [{ calls: [call(1, 3_500)] }, { recoveryMs: 2_500 }],
  "a success that counted under a claim that was not the last": [
    { job: { claimNo: 2 } },
    { wrong: 1 },
  ],
  "a success in the records of a job that is dead": [
    { job: { status: "dead", reason: "attempts used up" } },
    { wrong: 1 },
  ],
  "dead, with an endpoint that always answers": [
    { job: { ...DEAD, reason: "lost" } },
    { wrong: 1 },
  ],
  "dead after fewer failures than allowed": [
    { job: DEAD, url: "http://sink/flaky/30", calls: [call(1, 5, 500)] },
    { wrong: 1 },
  ],
  "dead after all of them": [
    { job: DEAD, url: "http://sink/flaky/30", calls: [1, 2, 3].map((n) => call(n, n, 500)) },
    {},
  ],
};

for (const [name, [planted, found]] of Object.entries(PLANTED))
  test(name, () => {
    assert.partialDeepStrictEqual(verdictOf(planted), { ...CLEAN, ...found });
  });
