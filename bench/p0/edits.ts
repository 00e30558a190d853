/** Cases of p0: what pause, resume, delete, edit and run-now do to jobs. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { REASON_DELETED, REASON_PAUSED } from "#core/domain/job.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import { deleteTask } from "#core/services/tasks/delete-task.ts";
import { editTask } from "#core/services/tasks/edit-task.ts";
import { pauseTask } from "#core/services/tasks/pause-task.ts";
import { resumeTask } from "#core/services/tasks/resume-task.ts";
import { runTask } from "#core/services/tasks/run-task.ts";
import { type Case, onlyJob, sawAttempts } from "./kit.ts";

/** After this a call of a job that was cancelled would have come. */
const NEVER_AFTER_MS = 3_000;

/** Once an hour, the next time at `dueMs`. */
function hourlyFrom(dueMs: number): Schedule {
  return { type: "every", seconds: 3_600, anchor: new Date(dueMs).toISOString() };
}

const manual: Case = {
  name: "run now, of a paused task",
  async start(kit) {
    const id = await kit.create({ schedule: kit.at(3_600_000) });
    assert.equal((await pauseTask(kit.deps, kit.tenantId, id)).kind, "written");
    const made = await runTask(kit.deps, kit.tenantId, id, null);
    assert.equal(made.kind, "made");
    return async () => {
      const [job] = (await kit.jobs(id)).filter(({ trigger }) => trigger === "manual");
      assert.equal(job?.status, "succeeded");
      assert(job !== undefined);
      sawAttempts(kit, job, [1]);
    };
  },
};

const manualWithPayload: Case = {
  name: "run now with headers and a body of its own",
  async start(kit) {
    const id = await kit.create({
      schedule: kit.at(3_600_000),
      request: { body: "usual", headers: { "X-P0-A": "usual", "X-P0-B": "usual" } },
    });
    const payload = { body: "other", headers: { "x-p0-a": "other" } };
    await runTask(kit.deps, kit.tenantId, id, payload);
    return async () => {
      const [call] = sawAttempts(kit, await onlyJob(kit, id, "succeeded"), [1]);
      assert.equal(call?.bodySha256, createHash("sha256").update("other").digest("hex"));
      assert.deepEqual([call?.headers["x-p0-a"], call?.headers["x-p0-b"]], ["other", "usual"]);
    };
  },
};

/** A task whose job exists, and is perhaps in an executor's hands, when it is stopped `beforeMs` before its time. */
function stopped(name: string, reason: string, stop: "pause" | "delete", beforeMs: number): Case {
  return {
    name,
    async start(kit) {
      const path = `/ok/${stop}/${beforeMs}`;
      const dueMs = kit.nowMs() + 4_000;
      const id = await kit.create({ schedule: hourlyFrom(dueMs), path });
      await kit.deps.clock.sleep(dueMs - beforeMs - kit.nowMs());
      const stopTask = stop === "pause" ? pauseTask : deleteTask;
      assert.equal((await stopTask(kit.deps, kit.tenantId, id, null)).kind, "written");
      const marginMs = dueMs - kit.nowMs();
      return async () => {
        assert.ok(marginMs > 400, `stopped in time: ${marginMs} ms before it was due`);
        assert.deepEqual(kit.callsTo(path).length, 0, "no call");
        for (const job of await kit.jobs(id))
          assert.deepEqual([job.status, job.reason], ["cancelled", reason]);
        assert.ok(kit.nowMs() > dueMs + NEVER_AFTER_MS, "waiting for a call that must not come");
      };
    },
  };
}

const pauseAndResume: Case = {
  name: "pause and resume before the due time: one call",
  async start(kit) {
    const dueMs = kit.nowMs() + 6_000;
    const id = await kit.create({ schedule: hourlyFrom(dueMs) });
    await kit.deps.clock.sleep(1_500);
    assert.equal((await pauseTask(kit.deps, kit.tenantId, id)).kind, "written");
    await kit.deps.clock.sleep(1_000);
    assert.equal((await resumeTask(kit.deps, kit.tenantId, id)).kind, "written");
    assert.ok(kit.nowMs() < dueMs - 500, "resumed in time");
    return async () => {
      const done = (await kit.jobs(id)).filter(({ status }) => status === "succeeded");
      assert.equal(done.length, 1, "one job has run");
      for (const job of done) sawAttempts(kit, job, [1]);
    };
  },
};

const resumeAfterwards: Case = {
  name: "what passed while paused never runs",
  async start(kit) {
    const anchor = new Date(0).toISOString();
    const path = "/ok/passed";
    const id = await kit.create({ path, schedule: { type: "every", seconds: 1, anchor } });
    assert.equal((await pauseTask(kit.deps, kit.tenantId, id)).kind, "written");
    const pausedMs = kit.nowMs();
    await kit.deps.clock.sleep(4_000);
    const resumedMs = kit.nowMs();
    assert.equal((await resumeTask(kit.deps, kit.tenantId, id)).kind, "written");
    return async () => {
      const scheduledMs = kit.callsTo(path).map(({ scheduledAt }) => Date.parse(scheduledAt));
      assert.ok(
        scheduledMs.some((ms) => ms > resumedMs),
        "runs again",
      );
      const passed = scheduledMs.filter((ms) => ms > pausedMs + 500 && ms < resumedMs - 500);
      assert.deepEqual(passed, [], "runs that passed while paused");
    };
  },
};

const editUrl: Case = {
  name: "edit of the URL: the job that exists calls the old one, the next the new",
  async start(kit) {
    const id = await kit.create({
      path: "/ok/before-edit",
      schedule: hourlyFrom(kit.nowMs() + 5_000),
    });
    await kit.deps.clock.sleep(2_000);
    const url = kit.sinkUrl("/ok/after-edit");
    const edited = await editTask(kit.deps, kit.tenantId, id, null, ({ task, version }) => ({
      kind: "ok",
      settings: { ...task, ...version, request: { ...version.request, url } },
    }));
    assert.equal(edited.kind, "written");
    await runTask(kit.deps, kit.tenantId, id, null);
    return async () => {
      const jobs = (await kit.jobs(id)).filter(({ status }) => status === "succeeded");
      const paths = jobs.map((job) => [job.trigger, sawAttempts(kit, job, [1])[0]?.path]);
      assert.deepEqual(paths.toSorted(), [
        ["manual", "/ok/after-edit"],
        ["schedule", "/ok/before-edit"],
      ]);
    };
  },
};

const recreated: Case = {
  name: "deleted and made again under the same name: the new one fires",
  async start(kit) {
    const name = "p0 again";
    const old = await kit.create({ name, schedule: kit.at(4_000), path: "/ok/old" });
    await kit.deps.clock.sleep(1_200);
    await deleteTask(kit.deps, kit.tenantId, old, null);
    const id = await kit.create({ name, schedule: kit.at(2_000), path: "/ok/new" });
    return async () => {
      sawAttempts(kit, await onlyJob(kit, id, "succeeded"), [1]);
      assert.equal(kit.callsTo("/ok/old").length, 0);
    };
  },
};

export const edits: readonly Case[] = [
  manual,
  manualWithPayload,
  stopped("paused at once", REASON_PAUSED, "pause", 4_000),
  stopped("paused while an executor holds it", REASON_PAUSED, "pause", 800),
  stopped("deleted at once", REASON_DELETED, "delete", 4_000),
  stopped("deleted while an executor holds it", REASON_DELETED, "delete", 800),
  pauseAndResume,
  resumeAfterwards,
  editUrl,
  recreated,
];
