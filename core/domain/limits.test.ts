import assert from "node:assert/strict";
import { test } from "node:test";
import * as limits from "./limits.ts";
import { LANES, PRIORITIES, QUEUES } from "./queue.ts";

test("every bound is a positive whole number", () => {
  for (const [name, value] of Object.entries(limits)) {
    assert(Number.isSafeInteger(value) && value > 0, `${name} is ${value}`);
  }
});

test("bounds that other parts of the system give", () => {
  // The lease that docs/architecture.md promises, and the stop timeout of Fargate.
  assert.equal(limits.WORKER_LEASE_MS, 6_000);
  assert(limits.DRAIN_TOTAL_MS < 120_000);
  // A paused or deleted task's calls stop within 3 s: an executor polls that often, and learns of it in its next poll.
  assert(limits.POLL_PERIOD_MS_MAX <= 2_000);
  // setTimeout fires at once beyond 2^31 - 1 ms: nothing that a timer is set for may be longer.
  for (const ms of [limits.TIMEOUT_MS_MAX, limits.DRAIN_TOTAL_MS, limits.WORKER_LEASE_MS]) {
    assert(ms < 2 ** 31);
  }
  assert.equal(limits.PARTITIONS, 2 ** 12, "a task's id has 12 bits for it");
  assert.equal(QUEUES, PRIORITIES.length * LANES);
  assert(QUEUES <= 256, "a queue fits one byte");
});

test("figures that are promised", () => {
  assert.partialDeepStrictEqual(
    { ...limits },
    {
      ...{ HORIZON_MS: 30_000, HORIZON_MS_MAX: 300_000, FROZEN_MS: 30_000, FAST_AHEAD_MS: 2_000 },
      ...{ HELD_JOBS_MIN: 100, VERSION_CACHE_BYTES_MAX: 64 * 2 ** 20, FLOOR_SLACK_MS: 5_000 },
      ...{ RENEW_PERIOD_MS: 2_000, RENEW_RETRY_MS: 200, START_WINDOW_MS: 5_000 },
      ...{ BACKSTOP_SLACK_MS: 30_000, BACKSTOP_GUARD_MS: 2_000, CLAIM_DEADLINE_MS: 1_000 },
      ...{ LIMIT_IDLE_MS: 1_000, RELEASE_GROUP_MAX: 1_000, RESULTS_GROUP_MAX: 1_000 },
    },
  );
});

test("the reconciler's runs of 70 s begin every minute: a look every 2 s, also between two", () => {
  assert.equal(limits.RECONCILE_RUN_MS, 70_000);
  assert.equal(limits.PASS_PERIOD_MS, 2_000);
});

test("a job's records fit its row: attempts and losses with the largest bodies kept", () => {
  const bytes = limits.ATTEMPT_RECORDS_MAX * (limits.FAILURE_BODY_BYTES_KEPT * 6 + 300);
  assert(bytes < 1_000_000, `${bytes} bytes is more than a row of history may have`);
});
