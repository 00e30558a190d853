import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { buildTask, RETENTION } from "#test/contract/builders.ts";
import { type CriticalRoom, planCritical } from "./plan-critical.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 9, 0, 0);

function critical(tenant: string, cron = "* * * * *") {
  const tenantId = tenant as TenantId;
  const schedule = { type: "cron" as const, expression: cron, timezone: "UTC" };
  return buildTask(NOW_MS, {
    task: { tenantId, schedule, priority: "critical", nextRunAtMs: NOW_MS },
  }).task;
}

const tenantsOf = (jobs: readonly { tenantId: string }[]) => jobs.map(({ tenantId }) => tenantId);

/** Room for `jobs`, of each tenant two within its quota. */
function roomFor(jobs: number, beyond = jobs - 1): CriticalRoom {
  return { jobs, beyond, leftOf: () => 2 };
}

test("first what is within the tenants' quotas; what is beyond a quota a lane down, and never into the last slot", () => {
  const due = [...Array.from({ length: 10 }, () => critical("many")), critical("one")];
  const five = planCritical({ nowMs: NOW_MS, due }, roomFor(5), RETENTION);
  assert.deepEqual(tenantsOf(five.jobs), ["many", "many", "one", "many"]);
  assert.deepEqual(
    five.jobs.map(({ queue }) => queue),
    [0, 0, 0, 1],
  );
  assert.equal(five.advances.length, 4);
  const two = planCritical({ nowMs: NOW_MS, due }, roomFor(2), RETENTION);
  assert.deepEqual(tenantsOf(two.jobs), ["many", "many"]);
  const full = planCritical({ nowMs: NOW_MS, due }, { ...roomFor(6, 0) }, RETENTION);
  assert.deepEqual(tenantsOf(full.jobs), ["many", "many", "one"], "held jobs leave nothing beyond");
});

test("a tenant that holds its quota is made to wait for the scheduler, others are made", () => {
  const due = [critical("many"), critical("one")];
  const room = { ...roomFor(6, 0), leftOf: (id: TenantId) => (id === "many" ? 0 : 2) };
  const { jobs, advances } = planCritical({ nowMs: NOW_MS, due }, room, RETENTION);
  assert.deepEqual(tenantsOf(jobs), ["one"]);
  assert.equal(advances.length, 1);
});

test("a schedule that cannot go on is left to the scheduler; the others are made", () => {
  const bad = critical("bad", "not a cron");
  const { jobs, advances } = planCritical(
    { nowMs: NOW_MS, due: [bad, critical("one")] },
    roomFor(8),
    RETENTION,
  );
  assert.deepEqual(tenantsOf(jobs), ["one"]);
  assert.ok(advances.every(({ taskId }) => taskId !== bad.id));
});

test("an occurrence later than the executor looks ahead is left, with the task's next run at it", () => {
  const task = critical("fast");
  const schedule = { type: "every" as const, seconds: 1, anchor: "1970-01-01T00:00:00.000Z" };
  const due = [{ ...task, schedule }];
  const { jobs, advances } = planCritical({ nowMs: NOW_MS, due }, roomFor(8), RETENTION);
  assert.deepEqual(
    jobs.map(({ scheduledAtMs }) => scheduledAtMs - NOW_MS),
    [0, 1_000],
  );
  assert.deepEqual(
    advances.map(({ nextRunAtMs }) => nextRunAtMs),
    [NOW_MS + 2_000],
  );
});
