/** Cases of p0: when jobs are made — at, every, cron, windows, and what becomes of runs that were missed. */
import assert from "node:assert/strict";
import { taskIdToBytes } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { REASON_MISSED } from "#core/domain/job.ts";
import { SKIPPED_ROWS_MAX } from "#core/domain/limits.ts";
import type { CatchUp } from "#core/domain/task.ts";
import { type Case, onlyJob, sawAttempts, type TaskWishes } from "./kit.ts";

const DAY_MS = 86_400_000;
const EPOCH = "1970-01-01T00:00:00.000Z";
const HOURLY = { type: "every", seconds: 3_600, anchor: EPOCH } as const;

const atNow: Case = {
  name: "at: fires at its second, and completes its task",
  async start(kit) {
    const atMs = Math.ceil(kit.nowMs() / 1_000) * 1_000 + 2_000;
    const id = await kit.create({ schedule: { type: "at", at: new Date(atMs).toISOString() } });
    return async () => {
      const job = await onlyJob(kit, id, "succeeded");
      assert.equal(job.scheduledAtMs, atMs);
      const [call] = sawAttempts(kit, job, [1]);
      const lagMs = (call?.arrivedAtMs ?? 0) - atMs;
      assert.ok(lagMs < 1_000, `lag ${lagMs} ms`);
      assert.equal((await kit.task(id)).status, "completed");
    };
  },
};

const atPast: Case = {
  name: "at in the past: fires at once",
  async start(kit) {
    const beforeMs = kit.nowMs();
    const id = await kit.create({ schedule: kit.at(-DAY_MS) });
    const afterMs = kit.nowMs();
    return async () => {
      const job = await onlyJob(kit, id, "succeeded");
      assert.ok(
        job.scheduledAtMs >= beforeMs && job.scheduledAtMs <= afterMs,
        "scheduled when made",
      );
      assert.equal(job.trigger, "schedule");
      sawAttempts(kit, job, [1]);
    };
  },
};

const atLocal: Case = {
  name: "at in local time",
  async start(kit) {
    const atMs = Math.ceil(kit.nowMs() / 1_000) * 1_000 + 2_000;
    const kolkata = new Date(atMs + 5.5 * 3_600_000).toISOString().replace(".000Z", "");
    const id = await kit.create({
      schedule: { type: "at", at: kolkata, timezone: "Asia/Kolkata" },
    });
    return async () => {
      const job = await onlyJob(kit, id, "succeeded");
      assert.equal(job.scheduledAtMs, atMs);
      sawAttempts(kit, job, [1]);
    };
  },
};

/** A recurring task: at least three runs, `stepMs` apart, none missing between them, each called once. */
function recurs(name: string, stepMs: number, wishes: TaskWishes): Case {
  return {
    name,
    async start(kit) {
      const id = await kit.create(wishes);
      return async () => {
        const done = (await kit.jobs(id)).filter(({ status }) => status === "succeeded");
        assert.ok(done.length >= 3, `${done.length} of 3 runs`);
        for (const [i, job] of done.entries()) {
          assert.equal(job.scheduledAtMs % stepMs, 0);
          if (i > 0) assert.equal(job.scheduledAtMs - (done[i - 1] as Job).scheduledAtMs, stepMs);
          sawAttempts(kit, job, [1]);
        }
      };
    },
  };
}

const window: Case = {
  name: "start and end: three runs, then completed",
  async start(kit) {
    const startAtMs = Math.ceil(kit.nowMs() / 1_000) * 1_000 + 2_000;
    const id = await kit.create({
      schedule: { type: "every", seconds: 1, anchor: EPOCH },
      startAtMs,
      endAtMs: startAtMs + 3_000,
    });
    return async () => {
      const jobs = await kit.jobs(id);
      assert.deepEqual(
        jobs.map(({ scheduledAtMs, status }) => [scheduledAtMs - startAtMs, status]),
        [0, 1_000, 2_000].map((ms) => [ms, "succeeded"]),
      );
      for (const job of jobs) sawAttempts(kit, job, [1]);
      assert.equal((await kit.task(id)).status, "completed");
    };
  },
};

const farAhead: Case = {
  name: "30 days ahead: no job, no call",
  async start(kit) {
    const id = await kit.create({ schedule: kit.at(30 * DAY_MS) });
    return async () => assert.deepEqual(await kit.jobs(id), []);
  },
};

/** Runs missed while nobody looked: so many are called after all, the others have rows that say why not. */
function missed(catchUp: CatchUp, hours: number, called: number): Case {
  return {
    name: `${hours} runs missed, catch-up ${catchUp}`,
    async start(kit) {
      const lastMs = Math.floor(kit.nowMs() / 1_000) * 1_000 - 600_000;
      const schedule = { ...HOURLY, anchor: new Date(lastMs).toISOString() };
      const id = await kit.createOverdue(lastMs - (hours - 1) * 3_600_000, { schedule, catchUp });
      return async () => {
        const jobs = await kit.jobs(id);
        const skipped = jobs.filter(({ status }) => status === "cancelled");
        const done = jobs.filter(({ status }) => status === "succeeded");
        assert.equal(done.length, called, `${done.length} of ${called} called`);
        assert.equal(jobs.length, skipped.length + done.length, "every row has ended");
        for (const job of done) {
          assert.equal(job.trigger, "catch_up");
          sawAttempts(kit, job, [1]);
        }
        const counts = skipped.map(({ covers }) => covers?.count ?? 1);
        assert.equal(
          counts.reduce((sum, n) => sum + n, 0),
          hours - called,
          "runs skipped",
        );
        assert.ok(skipped.length <= SKIPPED_ROWS_MAX, "rows of skipped runs are bounded");
        for (const job of skipped) {
          assert.equal(job.reason, REASON_MISSED);
          sawAttempts(kit, job, []);
        }
        assert.equal((await kit.task(id)).nextRunAtMs, lastMs + 3_600_000);
      };
    },
  };
}

const late: Case = {
  name: "30 s late is not missed, whatever the catch-up",
  async start(kit) {
    const lastMs = Math.floor(kit.nowMs() / 1_000) * 1_000 - 30_000;
    const schedule = { ...HOURLY, anchor: new Date(lastMs).toISOString() };
    const id = await kit.createOverdue(lastMs, { schedule, catchUp: "none" });
    return async () => {
      const job = await onlyJob(kit, id, "succeeded");
      assert.deepEqual([job.trigger, job.scheduledAtMs], ["schedule", lastMs]);
      sawAttempts(kit, job, [1]);
    };
  },
};

const brokenSchedule: Case = {
  name: "a schedule that cannot go on: its task says so",
  async start(kit) {
    const id = await kit.create({ schedule: kit.at(40_000) });
    const hex = Buffer.from(taskIdToBytes(id)).toString("hex");
    const schedule = JSON.stringify({ type: "cron", expression: "0 0 30 2 *", timezone: "UTC" });
    await kit.run(
      `UPDATE tasks SET schedule = '${schedule}', next_run_at = UTC_TIMESTAMP(3) WHERE id = 0x${hex}`,
    );
    return async () => {
      const job = await onlyJob(kit, id, "cancelled");
      assert.match(job.reason ?? "", /^schedule cannot go on/);
      const { status, error, nextRunAtMs } = await kit.task(id);
      assert.deepEqual([status, nextRunAtMs], ["active", null]);
      assert.ok(error, "the task carries the error");
    };
  },
};

const EVERY_2 = { type: "every", seconds: 2, anchor: EPOCH } as const;
const CRON_2 = { type: "cron", expression: "*/2 * * * * *", timezone: "Europe/Madrid" } as const;

export const timing: readonly Case[] = [
  atNow,
  atPast,
  atLocal,
  recurs("every 2 s", 2_000, { schedule: EVERY_2 }),
  recurs("cron with seconds", 2_000, { schedule: CRON_2 }),
  window,
  farAhead,
  missed("all", 5, 5),
  missed("latest", 5, 1),
  missed("none", 5, 0),
  missed("none", 150, 0),
  missed("latest", 130, 1),
  late,
  brokenSchedule,
];
