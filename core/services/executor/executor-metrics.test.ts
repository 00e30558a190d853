/** What an executor counts of what it does: the figures that alarms and promises are measured by. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { openMetrics } from "#adapters/system/metrics.ts";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { Job } from "#core/domain/job.ts";
import { makeManualJob, makeScheduledJob } from "#core/domain/make-job.ts";
import type { CallOutcome } from "#core/ports/caller.ts";
import { buildTask } from "#test/contract/builders.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { secretParts } from "#test/support/secret-parts.ts";
import { runExecutor } from "#workers/executor/run-executor.ts";
import { Executor } from "./executor.ts";

const RETENTION = { succeededMs: 3_600_000, endedMs: 1_209_600_000 };
const ONE_ATTEMPT = {
  maxAttempts: 1,
  initialDelaySeconds: 10,
  factor: 3,
  maxDelaySeconds: 600,
  jitter: 0,
};

test("calls, what they ended with, deaths, and the lag of first attempts of scheduled runs only", async () => {
  const clock = new ManualClock();
  const shards = openMemoryShards({ clock });
  const { tables } = shards;
  const [shard] = shards.all();
  assert.ok(shard);
  const answer = (url: string): CallOutcome => {
    const statusCode = Number(new URL(url).pathname.slice(1));
    if (statusCode === 0) return { kind: "failed", error: "timeout", durationMs: 1 };
    const common = { retryAfterMs: null, responseBody: "", durationMs: 1 };
    return { kind: "answered", statusCode, ...common };
  };
  const metrics = openMetrics("executor");
  const none = () => {};
  const random = { bytes: (length: number) => new Uint8Array(length).fill(1), unit: () => 0.5 };
  const logger = { info: none, warn: none, error: none };
  const executor = new Executor({
    shard,
    caller: { call: async ({ url }) => answer(url), close: async () => {} },
    ...secretParts(shards),
    ...{ clock, random, metrics, logger, retention: RETENTION, slots: 10 },
  });

  const nowMs = clock.nowMs();
  const addTask = (path: string, priority: "critical" | "low", retry = ONE_ATTEMPT) => {
    const request = {
      ...{ method: "POST", url: `https://example.com/${path}`, headers: {} },
      ...{ body: "", bodyBase64: null },
    };
    const { task, version } = buildTask(nowMs, {
      task: { priority, nextRunAtMs: null },
      version: { request, retry },
    });
    tables.tasks.set(task.id, task);
    tables.addVersion(version);
    return task;
  };
  const addJob = (job: Job) => void tables.jobs.set(job.id, job);
  const scheduled = (
    path: string,
    priority: "critical" | "low",
    atMs: number,
    retry = ONE_ATTEMPT,
  ) => addJob(makeScheduledJob(addTask(path, priority, retry), "schedule", atMs, nowMs));
  scheduled("200", "critical", nowMs + 3_000);
  scheduled("204", "critical", nowMs - 5_000);
  scheduled("500", "low", nowMs - 5_000);
  scheduled("410", "low", nowMs - 5_000);
  scheduled("0", "low", nowMs - 5_000, { ...ONE_ATTEMPT, maxAttempts: 2 });
  addJob(makeManualJob(addTask("404", "low"), "manual", nowMs, 7, null));
  addJob(makeScheduledJob(addTask("201", "low"), "catch_up", nowMs - 90_000, nowMs));
  const limited = addTask("202", "critical");
  const limitKey = tenantKey(limited.tenantId);
  await shard.limits.put(limitKey, { concurrency: 5 });
  addJob({
    ...makeScheduledJob(limited, "schedule", nowMs - 9_000, nowMs),
    status: "waiting",
    limitKey,
  });

  const stop = new AbortController();
  const ended = runExecutor(executor, { clock, random, logger }, stop.signal);
  await clock.advance(30_000);
  stop.abort();
  await clock.advance(1_000);
  await ended;

  const { counters, priorities } = metrics.take();
  const counted = Object.fromEntries([...counters].filter(([, count]) => count > 0));
  assert.deepEqual(counted, {
    ...{ claimed: 9, sent: 9, dead: 4 },
    ...{ results_2xx: 4, results_4xx: 2, results_5xx: 1, results_timeout: 2 },
  });
  assert.partialDeepStrictEqual(priorities.get("critical")?.lag, { first: 2, late: 1 });
  assert.partialDeepStrictEqual(priorities.get("low")?.lag, { first: 3, late: 0 });
});
