/** What a claim knows of its jobs' secrets, and how what calls ask for besides is put together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { TASK_SECRETS_ASKED_MS } from "#core/domain/limits.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { Secret } from "#core/domain/secret.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import { editTask } from "#core/services/tasks/edit-task.ts";
import { ACME, openSendingWorld, settingsOf } from "#test/support/sending-world.ts";

type Given = Parameters<typeof settingsOf>[0];

const BEARER: Given = { credential: { type: "bearer", token: new Secret("t0k3n") } };
const KEY_A: Given = { headers: { "X-A": "aaaa" } };
const KEYS: Given = { headers: { "X-A": "aaaa", "X-B": "bbbb" } };

/** Two jobs of a task, claimed and sent; the second is of the version that an edit has made in between, and claimed `laterMs` later. */
async function sendAround(before: Given, after: Given, laterMs: number) {
  const world = openSendingWorld();
  const { clock, deps, parts, sender, stop } = world;
  const asked: number[] = [];
  const { loadCallParts } = world.shard.tasks;
  world.shard.tasks.loadCallParts = (request) => {
    asked.push(request.secretsOf.length);
    return loadCallParts.call(world.shard.tasks, request);
  };
  const claimAndSend = async (job: ClaimedJob) => {
    const [version] = await parts.versionsOf([job]);
    assert(version);
    return sender.send(job, version, stop.signal, () => true);
  };
  const { job } = await world.make(before);
  assert.equal((await claimAndSend(job)).kind, "answered");
  await clock.advance(laterMs);
  const settings = settingsOf(after);
  const secrets = settings.secrets ?? {};
  const edit = () => ({ kind: "ok", settings }) as const;
  const edited = await editTask(deps, ACME, job.taskId, null, edit, { secrets });
  assert(edited.kind === "written");
  const { task } = edited.current;
  assert.equal(task.requestVersion, 2);
  const next = makeManualJob(task, "test", clock.nowMs(), 2, null);
  const sent = await claimAndSend({ ...next, attempt: 1 } as ClaimedJob);
  return { sent, headers: world.calls.at(-1)?.headers ?? {}, asked };
}

test("a job that is made right after its task got a secret is sent with it, however lately others of it were claimed", async () => {
  for (const [before, after, name] of [
    [{}, BEARER, "authorization"],
    [KEY_A, BEARER, "authorization"],
    [BEARER, KEYS, "X-B"],
    [KEY_A, KEYS, "X-B"],
  ] as const)
    for (const laterMs of [0, 1, TASK_SECRETS_ASKED_MS - 1, TASK_SECRETS_ASKED_MS]) {
      const { sent, headers, asked } = await sendAround(before, after, laterMs);
      assert.equal(sent.kind, "answered", `${JSON.stringify(sent)} after ${laterMs} ms`);
      assert.ok(headers[name]);
      assert.deepEqual(asked, [1, 1], "with the version, in one question");
    }
});

test("versions that many calls ask for while none is known are one question, and each is asked for once", async () => {
  const world = openSendingWorld();
  const made = await Promise.all(Array.from({ length: 40 }, () => world.make({})));
  const asked: number[] = [];
  const { loadCallParts } = world.shard.tasks;
  world.shard.tasks.loadCallParts = (request) => {
    asked.push(request.versions.length);
    return loadCallParts.call(world.shard.tasks, request);
  };
  const ask = async () => {
    const wanted = [...made, ...made];
    const found = await Promise.all(wanted.map(({ job }) => world.parts.versionOf(job.taskId, 1)));
    assert.deepEqual(
      found.map((version) => version?.taskId),
      wanted.map(({ job }) => job.taskId),
    );
  };
  world.away = "loadCallParts";
  await assert.rejects(ask(), StoreUnavailable);
  world.away = null;
  await ask();
  await ask();
  const [one] = made;
  assert(one);
  assert.equal(await world.parts.versionOf(one.job.taskId, 2), null);
  assert.deepEqual(asked, [40, 40, 1]);
});
