/** A secret is sent only to the origin for which it was given, whatever version of its task a job is of. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TASK_SECRETS_KNOWN_MS } from "#core/domain/limits.ts";
import { makeManualJob } from "#core/domain/make-job.ts";
import { Secret } from "#core/domain/secret.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import { ACME, openSendingWorld, settingsOf } from "#test/support/sending-world.ts";
import { editTask } from "../tasks/edit-task.ts";

type World = ReturnType<typeof openSendingWorld>;
type Given = Parameters<typeof settingsOf>[0];
type Made = Awaited<ReturnType<World["make"]>>;

const TOKEN_URL = "https://login.example.com/token";
const HOOK = "https://a.example/hook";
const ELSEWHERE = "https://b.example/hook";
const ENDED = { kind: "failed", error: "secret-other-origin", durationMs: 0 };

const HEADER = (value: string): Given => ({ headers: { "X-Key": value } });
const KINDS: Readonly<Record<string, (value: string) => Given>> = {
  "a secret header": HEADER,
  "a bearer token": (value) => ({ credential: { type: "bearer", token: new Secret(value) } }),
  "a password": (value) => ({
    credential: { type: "basic", username: "u", password: new Secret(value) },
  }),
  "an OAuth client": (value) => ({
    credential: {
      type: "oauth2",
      tokenUrl: TOKEN_URL,
      clientId: "c",
      clientSecret: new Secret(value),
      scope: null,
    },
  }),
};

function openWorld(): World {
  return openSendingWorld(async ({ url }) =>
    url === TOKEN_URL ? { responseBody: JSON.stringify({ access_token: "t0k3n" }) } : {},
  );
}

/** Gives the task another request and other secrets, and makes a job of what it is then. */
async function edit(
  { deps, clock }: World,
  { job }: Made,
  given: Given,
  laterMs = TASK_SECRETS_KNOWN_MS,
): Promise<Made> {
  const settings = settingsOf(given);
  const { secrets = {} } = settings;
  const apply = () => ({ kind: "ok", settings }) as const;
  const edited = await editTask(deps, ACME, job.taskId, null, apply, { secrets });
  assert(edited.kind === "written");
  await clock.advance(laterMs);
  const { task, version } = edited.current;
  const next = makeManualJob(task, "test", clock.nowMs(), task.version, null);
  return { job: { ...next, attempt: 1 } as ClaimedJob, version };
}

const urls = ({ calls }: World) => calls.map(({ url }) => url);

for (const [what, given] of Object.entries(KINDS))
  test(`${what} of a task that has moved is not sent where the task was, nor fetched a token with`, async () => {
    const world = openWorld();
    const made = await world.make({ ...given("old-value"), url: HOOK });
    const moved = await edit(world, made, { ...given("new-value"), url: ELSEWHERE });
    assert.deepEqual(await world.send(made), ENDED);
    assert.deepEqual(urls(world), []);
    assert.doesNotMatch(JSON.stringify(world.warned), /value|X-Key/);
    assert.match(JSON.stringify(world.warned), /calls another origin now/);
    assert.equal((await world.send(moved)).kind, "answered");
    assert.equal(urls(world).at(-1), ELSEWHERE);
    const back = await edit(world, made, { ...given("third-value"), url: `${HOOK}/2` });
    for (const one of [made, back]) assert.equal((await world.send(one)).kind, "answered");
    assert.deepEqual(await world.send(moved), ENDED);
  });

test("a job of a version before gets the secrets when their origin is the same, however its URL is written", async () => {
  for (const url of [
    "https://a.example/other/path?x=1",
    "HTTPS://A.EXAMPLE:443/hook",
    "https://a.example./hook",
  ]) {
    const world = openWorld();
    const made = await world.make({ ...HEADER("old"), url: HOOK });
    await edit(world, made, { ...HEADER("new"), url });
    assert.equal((await world.send(made)).kind, "answered", url);
    assert.equal(world.calls[0]?.headers["X-Key"], "new");
  }
});

test("another scheme or port is another origin", async () => {
  for (const url of ["http://a.example/hook", "https://a.example:8443/hook"]) {
    const world = openWorld();
    const made = await world.make({ ...HEADER("old"), url: HOOK });
    await edit(world, made, { ...HEADER("new"), url });
    assert.deepEqual(await world.send(made), ENDED, url);
  }
});

test("a task without secrets may have moved: its jobs call where they were made for", async () => {
  const world = openWorld();
  const made = await world.make({ url: HOOK });
  await edit(world, made, { url: ELSEWHERE });
  assert.equal((await world.send(made)).kind, "answered");
  assert.deepEqual(urls(world), [HOOK]);
});

test("secrets that are known from before the job's own version are no reason to end it: it goes back", async () => {
  const world = openWorld();
  const made = await world.make({ ...HEADER("old"), url: HOOK });
  assert.equal((await world.send(made)).kind, "answered");
  const moved = await edit(world, made, { ...HEADER("new"), url: ELSEWHERE }, 0);
  assert.deepEqual(await world.send(moved), { kind: "unsent" });
  await world.clock.advance(TASK_SECRETS_KNOWN_MS);
  assert.equal((await world.send(moved)).kind, "answered");
  assert.deepEqual(urls(world), [HOOK, ELSEWHERE]);
});

test("while the database cannot say where a task calls by now, jobs of versions before go back unsent", async () => {
  const world = openWorld();
  const made = await world.make({ ...HEADER("old"), url: HOOK });
  const moved = await edit(world, made, { ...HEADER("new"), url: ELSEWHERE });
  assert.equal((await world.send(moved)).kind, "answered");
  world.away = "loadCallParts";
  assert.deepEqual(await world.send(made), { kind: "unsent" });
  world.away = null;
  assert.deepEqual(await world.send(made), ENDED);
  assert.deepEqual(urls(world), [ELSEWHERE]);
});

test("a task that has come back to a job's origin has its secrets sent there, however lately it was known to be elsewhere", async () => {
  const world = openWorld();
  const made = await world.make({ ...HEADER("first"), url: HOOK });
  const moved = await edit(world, made, { ...HEADER("second"), url: ELSEWHERE });
  assert.equal((await world.send(moved)).kind, "answered");
  assert.deepEqual(await world.send(made), ENDED);
  await edit(world, made, { ...HEADER("third"), url: `${HOOK}/2` }, 0);
  assert.equal((await world.send(made)).kind, "answered");
  const sent = world.calls.map(({ url, headers }) => [url, headers["X-Key"]]);
  assert.deepEqual(sent, [
    [ELSEWHERE, "second"],
    [HOOK, "third"],
  ]);
});

test("what is known of where a task calls ends no job while the database does not answer", async () => {
  const world = openWorld();
  const made = await world.make({ ...HEADER("old"), url: HOOK });
  await edit(world, made, { ...HEADER("new"), url: ELSEWHERE });
  assert.deepEqual(await world.send(made), ENDED);
  world.away = "loadCallParts";
  assert.deepEqual(await world.send(made), { kind: "unsent" });
  world.away = null;
  assert.deepEqual(await world.send(made), ENDED);
  assert.deepEqual(urls(world), []);
});

test("jobs of before their tasks moved end together: what is asked for them does not grow with how many they are", async () => {
  const world = openWorld();
  const made = await Promise.all(
    Array.from({ length: 20 }, () => world.make({ ...HEADER("old"), url: HOOK })),
  );
  for (const one of made) await edit(world, one, { ...HEADER("new"), url: ELSEWHERE });
  let loads = 0;
  const { loadCallParts } = world.shard.tasks;
  world.shard.tasks.loadCallParts = (request) => {
    loads += 1;
    return loadCallParts.call(world.shard.tasks, request);
  };
  const jobs = [...made, ...made, ...made];
  const sent = await Promise.all(jobs.map((one) => world.send(one)));
  assert.deepEqual(sent, Array(jobs.length).fill(ENDED));
  assert.equal(loads, 3, "secrets, the versions they are for, and secrets again");
});
