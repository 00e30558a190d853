import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { buildTask, RETENTION } from "#test/contract/builders.ts";
import { planCritical } from "./plan-critical.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);

function critical(tenant: string, cron = "* * * * *") {
  const tenantId = tenant as TenantId;
  const schedule = { type: "cron" as const, expression: cron, timezone: "UTC" };
  return buildTask(NOW_MS, {
    task: { tenantId, schedule, priority: "critical", nextRunAtMs: NOW_MS },
  }).task;
}

const tenantsOf = (jobs: readonly { tenantId: string }[]) => jobs.map(({ tenantId }) => tenantId);

test("two of one tenant while others wait, the rest of the room for what is left", () => {
  const due = [...Array.from({ length: 10 }, () => critical("many")), critical("one")];
  const four = planCritical({ nowMs: NOW_MS, due }, 4, RETENTION);
  assert.deepEqual(tenantsOf(four.jobs), ["many", "many", "one", "many"]);
  assert.equal(four.advances.length, 4);
  const two = planCritical({ nowMs: NOW_MS, due }, 2, RETENTION);
  assert.deepEqual(tenantsOf(two.jobs), ["many", "many"]);
});

test("a schedule that cannot go on is left to the scheduler; the others are made", () => {
  const bad = critical("bad", "not a cron");
  const { jobs, advances } = planCritical(
    { nowMs: NOW_MS, due: [bad, critical("one")] },
    8,
    RETENTION,
  );
  assert.deepEqual(tenantsOf(jobs), ["one"]);
  assert.ok(advances.every(({ taskId }) => taskId !== bad.id));
});

test("an occurrence later than the executor looks ahead is left, with the task's next run at it", () => {
  const task = critical("fast");
  const schedule = { type: "every" as const, seconds: 1, anchor: "1970-01-01T00:00:00.000Z" };
  const due = [{ ...task, schedule }];
  const { jobs, advances } = planCritical({ nowMs: NOW_MS, due }, 8, RETENTION);
  assert.deepEqual(
    jobs.map(({ scheduledAtMs }) => scheduledAtMs - NOW_MS),
    [0, 1_000],
  );
  assert.deepEqual(
    advances.map(({ nextRunAtMs }) => nextRunAtMs),
    [NOW_MS + 2_000],
  );
});
