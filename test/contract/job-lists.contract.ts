/** A task's jobs as readers see them: order, pages, filters. Rows come back as they are stored. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, JobStatus, Payload } from "#core/domain/job.ts";
import { JOB_STATUSES, REASON_DELETED } from "#core/domain/job.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import type { HttpRequest, Task } from "#core/domain/task.ts";
import type { DeadLetter, DeadLetterPlace, TaskJobsFilter } from "#core/ports/job-store.ts";
import {
  addJobs,
  addTask,
  dbNow,
  HOUR_MS,
  idsOf,
  makeTenant,
  plannedJob,
  removeTask,
} from "./builders.ts";
import type { ContractStore, OpenStore } from "./contract-store.ts";
import { onStore } from "./contract-store.ts";

const NO_FILTER = { status: null, priority: null, tag: null };
const NO_LETTERS_FILTER = { taskId: null, fromMs: null, toMs: null };
const ALL: TaskJobsFilter = { statuses: null, fromMs: null, toMs: null };

export function jobListsContract(open: OpenStore): void {
  test(
    "a task's jobs come newest first, in pages, its own tenant's only",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const other = await addTask(store, { task: { tenantId: task.tenantId } });
      const nowMs = await dbNow(store);
      const offsets = [1_000, -2_000, 5_000, -1, 0];
      const jobs = offsets.map((offsetMs) => plannedJob(task, nowMs, offsetMs));
      const manual = [3, 900, 40].map((run) => makeManualJob(task, "manual", nowMs, run, null));
      await addJobs(store, task, [...jobs, ...manual]);
      await addJobs(store, other.task, [plannedJob(other.task, nowMs, 0)]);
      const expected = [...jobs, ...manual].sort((a, b) => (a.id > b.id ? -1 : 1));
      const list = (before: Job["id"] | null, limit: number, tenantId = task.tenantId) =>
        store.shard.jobs.listByTask(tenantId, task.id, ALL, before, limit);
      assert.deepEqual(await list(null, 50), expected);
      assert.deepEqual(await list(null, 3), expected.slice(0, 3));
      assert.deepEqual(await list(expected[2]?.id ?? null, 3), expected.slice(3, 6));
      assert.deepEqual(await list(expected[7]?.id ?? null, 3), []);
      assert.deepEqual(await list(plannedJob(task, nowMs, 500).id, 50), expected.slice(2));
      assert.deepEqual(await list(null, 50, makeTenant()), []);
    }),
  );

  test(
    "lists tell the size of a large body, of a version and of a payload, whether they bring it or not",
    onStore(open, async (store) => {
      const large = "é😀\u0001".repeat(20_000);
      const size = Buffer.byteLength(large);
      const binary = Buffer.from(large).toString("base64");
      const request = {
        method: "POST",
        url: "https://example.com/hook",
        headers: { a: "b" },
        body: null,
        bodyBase64: binary,
      };
      const { task } = await addTask(store, { version: { request } });
      const nowMs = await dbNow(store);
      const dead = (run: number, payload: Payload | null): Job => ({
        ...makeManualJob(task, "manual", nowMs, run, payload),
        ...{ status: "dead", finishedAtMs: nowMs, reason: "attempts used up" },
      });
      const jobs = [
        dead(1, { body: large }),
        dead(2, { headers: { a: "c" }, bodyBase64: binary }),
        dead(3, { body: "small" }),
        dead(4, null),
      ];
      for (const job of jobs) await store.putJob(job);
      const key = { taskId: task.id, requestVersion: 1 };
      const { tenantId, id } = task;
      const { tasks, jobs: rows } = store.shard;
      const [version] = await tasks.loadVersions([key], "sizes");
      const [listedTask] = await tasks.list(tenantId, NO_FILTER, null, 10);
      assert(version !== undefined && listedTask !== undefined);
      assert.deepEqual(sizeOf(listedTask.version.request), size);
      const everyJob = await rows.listByTask(tenantId, id, ALL, null, 10);
      const letters = await rows.listDeadLetters(tenantId, NO_LETTERS_FILTER, null, 10);
      for (const listed of [everyJob, letters.map(({ job }) => job)]) {
        const sizes: ReadonlyMap<string, number> = new Map(
          listed.map((job) => [job.id, sizeOf(requestOfJob(job, version.request))]),
        );
        assert.deepEqual(
          jobs.map((job) => sizes.get(job.id)),
          [size, size, 5, size],
        );
      }
    }),
  );

  test(
    "a large request without a body has the size 0, also beside a payload of headers alone",
    onStore(open, async (store) => {
      const url = `https://example.com/${"x".repeat(4_000)}`;
      const [headers, other] = ["a", "b"].map((name) => ({ [name]: "é".repeat(8_000) }));
      const request = { method: "GET", url, headers: { ...headers }, body: null, bodyBase64: null };
      const { task } = await addTask(store, { version: { request } });
      const full = { ...request, method: "POST", body: "four" };
      const withBody = await addTask(store, { version: { request: full } });
      const nowMs = await dbNow(store);
      const { tasks, jobs } = store.shard;
      for (const [one, bytes] of [[task, 0] as const, [withBody.task, 4] as const]) {
        await store.putJob(makeManualJob(one, "manual", nowMs, 1, { headers: { ...other } }));
        const [version] = await tasks.loadVersions(
          [{ taskId: one.id, requestVersion: 1 }],
          "sizes",
        );
        const [listedTask] = await tasks.list(one.tenantId, NO_FILTER, null, 10);
        const [job] = await jobs.listByTask(one.tenantId, one.id, ALL, null, 10);
        assert(version !== undefined && listedTask !== undefined && job !== undefined);
        const requests = [
          version.request,
          listedTask.version.request,
          requestOfJob(job, version.request),
        ];
        assert.deepEqual(requests.map(sizeOf), [bytes, bytes, bytes]);
      }
    }),
  );

  test(
    "goes over letters in steps, whatever they are of: each that is shown is in one, also where several died at once",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const { tenantId } = task;
      const gone = (await addTask(store, { task: { tenantId } })).task;
      const other = (await addTask(store)).task;
      const nowMs = await dbNow(store);
      const jobs = [5, 3, 3, 3, 3, 2, 9].map((ago, n): Job => {
        const job = plannedJob(n % 3 === 1 ? gone : task, nowMs, -60_000 - n);
        return { ...job, status: "dead", finishedAtMs: nowMs - ago * 1_000 };
      });
      const foreign = plannedJob(other, nowMs, -60_000);
      await store.putJob({ ...foreign, status: "dead", finishedAtMs: nowMs - 3_000 });
      for (const job of jobs) await store.putJob(job);
      await removeTask(store, gone);
      const { jobs: rows } = store.shard;
      const filter = { ...NO_LETTERS_FILTER, retriable: true };
      const whole = await rows.listDeadLetters(tenantId, filter, null, 10);
      assert.equal(whole.length, 5);
      for (let size = 1; size <= 8; size++) {
        const shown: DeadLetter[] = [];
        let before: DeadLetterPlace | null = null;
        let steps = 0;
        do {
          const downTo = await rows.findLettersDownTo(tenantId, filter, before, size);
          shown.push(...(await rows.listDeadLetters(tenantId, filter, before, 10, downTo)));
          before = downTo;
          steps++;
        } while (before !== null);
        assert.deepEqual([shown, steps], [whole, Math.floor(7 / size) + 1]);
      }
      const ofOne = { ...filter, taskId: gone.id, toMs: nowMs - 2_500 };
      const place = await rows.findLettersDownTo(tenantId, ofOne, null, 1);
      assert.deepEqual(place, { diedAtMs: nowMs - 3_000, jobId: jobs[1]?.id });
      assert.equal(await rows.findLettersDownTo(tenantId, ofOne, place, 2), null);
    }),
  );

  test(
    "tells which jobs are here, in whatever state",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = JOB_STATUSES.map((status, i): Job => {
        return { ...plannedJob(task, nowMs, -1_000 * i), status };
      });
      for (const job of jobs) await store.putJob(job);
      const absent = plannedJob(task, nowMs, 1_000);
      const present = await store.shard.jobs.listPresent(idsOf([absent, ...jobs]));
      assert.deepEqual(present.sort(), idsOf(jobs).sort());
      assert.deepEqual(await store.shard.jobs.listPresent([]), []);
    }),
  );

  test(
    "tells which running jobs are to end",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = JOB_STATUSES.flatMap((status, i) =>
        [null, REASON_DELETED].map((cancelReason, k): Job => {
          return { ...plannedJob(task, nowMs, -1_000 * i - k), status, cancelReason };
        }),
      );
      for (const job of jobs) await store.putJob(job);
      const absent = plannedJob(task, nowMs, 1_000);
      const marked = jobs.filter((job) => job.status === "running" && job.cancelReason !== null);
      assert.deepEqual(await store.shard.jobs.listMarked(idsOf([absent, ...jobs])), idsOf(marked));
      assert.deepEqual(await store.shard.jobs.listMarked([]), []);
    }),
  );

  test(
    "filters by status; a running job whose time has not come counts as pending",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const jobs = JOB_STATUSES.map((status, i): Job => {
        return { ...plannedJob(task, nowMs, -60_000 - i), status };
      });
      const ahead: Job = { ...plannedJob(task, nowMs, HOUR_MS), status: "running", claimNo: 1 };
      for (const job of [...jobs, ahead]) await store.putJob(job);
      const of = (...statuses: JobStatus[]) => {
        const asked = jobs.filter((job) => statuses.includes(job.status));
        return idsOf(statuses.includes("pending") ? [...asked, ahead] : asked);
      };
      for (const status of JOB_STATUSES) {
        assert.deepEqual(await listed(store, task, { statuses: [status] }), of(status), status);
      }
      const pairs: JobStatus[][] = [
        ["pending", "running"],
        ["running", "dead"],
        ["pending", "succeeded", "cancelled"],
        [...JOB_STATUSES],
      ];
      for (const statuses of pairs) {
        assert.deepEqual(await listed(store, task, { statuses }), of(...statuses));
      }
      assert.deepEqual(await listed(store, task, {}), idsOf([...jobs, ahead]));
    }),
  );

  test(
    "filters by scheduledAt: from is inside, to is not; together with a status and a page too",
    onStore(open, async (store) => {
      const { task } = await addTask(store);
      const nowMs = await dbNow(store);
      const [one, two, three] = [1_000, 2_000, 3_000].map((ms) => plannedJob(task, nowMs, ms));
      assert(one && two && three);
      const manual = makeManualJob(task, "manual", nowMs + 2_000, 65_535, null);
      const dead: Job = { ...plannedJob(task, nowMs, 2_500), status: "dead" };
      await addJobs(store, task, [one, two, three, manual]);
      await store.putJob(dead);
      const fromMs = two.scheduledAtMs;
      const toMs = three.scheduledAtMs;
      assert.deepEqual(await listed(store, task, { fromMs }), idsOf([two, manual, dead, three]));
      assert.deepEqual(await listed(store, task, { toMs }), idsOf([one, two, manual, dead]));
      assert.deepEqual(await listed(store, task, { fromMs, toMs }), idsOf([two, manual, dead]));
      assert.deepEqual(await listed(store, task, { fromMs, toMs: fromMs }), []);
      assert.deepEqual(await listed(store, task, { fromMs, statuses: ["dead"] }), [dead.id]);
      const page = await store.shard.jobs.listByTask(
        task.tenantId,
        task.id,
        { ...ALL, fromMs },
        dead.id,
        1,
      );
      assert.deepEqual(idsOf(page), [manual.id]);
    }),
  );
}

async function listed(store: ContractStore, task: Task, filter: Partial<TaskJobsFilter>) {
  const rows = await store.shard.jobs.listByTask(
    task.tenantId,
    task.id,
    { ...ALL, ...filter },
    null,
    100,
  );
  return idsOf(rows);
}

function sizeOf({ body, bodyBase64, bodyBytes }: HttpRequest): number {
  return bodyBytes ?? Buffer.from(bodyBase64 ?? body ?? "", bodyBase64 ? "base64" : "utf8").length;
}
