/** What leaves with a call, and what does not: secrets as they are by then, signatures. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { TASK_SECRETS_KNOWN_MS, TASK_SECRETS_KNOWN_MS_MAX } from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import type { Credential } from "#core/domain/target-auth.ts";
import type { Call } from "#core/ports/caller.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import { editTask } from "#core/services/tasks/edit-task.ts";
import { ACME, openSendingWorld, settingsOf } from "#test/support/sending-world.ts";

const authorizations = (calls: readonly Call[]) =>
  calls.map(({ headers }) => headers.authorization);

test("secret headers go out beside the plain ones, under the names they were given", async () => {
  const world = openSendingWorld();
  const made = await world.make({ headers: { "X-API-Key": "k1", "X-Other": "k2" } });
  assert.equal((await world.send(made)).kind, "answered");
  const {
    "webhook-signature": signature,
    "webhook-timestamp": timestamp,
    ...headers
  } = world.calls[0]?.headers ?? {};
  assert.ok(signature && timestamp);
  assert.deepEqual(headers, {
    "user-agent": "at-and-cron/1",
    "X-Plain": "p",
    "X-API-Key": "k1",
    "X-Other": "k2",
    "idempotency-key": made.job.id,
    "x-scheduled-at": new Date(made.job.scheduledAtMs).toISOString(),
    "x-attempt": "1",
    "webhook-id": made.job.id,
  });
});

test("bearer and basic credentials", async () => {
  const world = openSendingWorld();
  await world.send(
    await world.make({ credential: { type: "bearer", token: new Secret("t0k3n") } }),
  );
  const basic: Credential = { type: "basic", username: "ünì", password: new Secret("pässword") };
  await world.send(await world.make({ credential: basic }));
  const pair = Buffer.from("ünì:pässword").toString("base64");
  assert.deepEqual(authorizations(world.calls), ["Bearer t0k3n", `Basic ${pair}`]);
});

test("a rotated secret is sent by jobs that exist, within its time; the database is not asked for each call", async () => {
  const world = openSendingWorld();
  const { clock, deps } = world;
  const made = await world.make({ headers: { "X-Key": "old" } });
  let loads = 0;
  const { loadCallParts } = world.shard.tasks;
  world.shard.tasks.loadCallParts = (request) => {
    loads++;
    return loadCallParts.call(world.shard.tasks, request);
  };
  for (let n = 0; n < 10; n++) await world.send(made);
  assert.equal(loads, 1, "the tenant's signing secrets and the task's together");
  const next = settingsOf({ headers: { "X-Key": "new" } });
  const edited = await editTask(
    deps,
    ACME,
    made.job.taskId,
    null,
    () => ({ kind: "ok", settings: next }),
    {
      secrets: next.secrets ?? {},
    },
  );
  assert(edited.kind === "written");
  assert.equal(edited.current.task.requestVersion, 1, "no new version of the request");
  assert.equal(edited.current.task.version, 2);
  await clock.advance(TASK_SECRETS_KNOWN_MS);
  await Promise.all(Array.from({ length: 10 }, () => world.send(made)));
  assert.equal(loads, 2);
  const sent = world.calls.map(({ headers }) => headers["X-Key"]);
  assert.deepEqual(sent, [...Array(10).fill("old"), ...Array(10).fill("new")]);
});

test("a claim brings the secrets of its jobs with their versions, in one question", async () => {
  const world = openSendingWorld();
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, n) => world.make({ headers: { "X-Key": `k${n}` } })),
  );
  const asked: number[] = [];
  const { loadCallParts } = world.shard.tasks;
  world.shard.tasks.loadCallParts = (request) => {
    asked.push(request.versions.length + request.secretsOf.length + request.signingOf.length);
    return loadCallParts.call(world.shard.tasks, request);
  };
  const found = await world.parts.versionsOf(made.map(({ job }) => job));
  assert.deepEqual(
    found.map((version) => version?.taskId),
    made.map(({ version }) => version.taskId),
  );
  for (const one of made) await world.send(one);
  assert.deepEqual(asked, [41]);
});

test("a secret that is gone, moved or tampered with fails the attempt with its code, and nothing is called", async () => {
  const world = openSendingWorld();
  const { secrets } = world.shards.tables;
  const [gone, moved, tampered, whole] = await Promise.all(
    ["a", "b", "c", "d"].map((value) => world.make({ headers: { "X-Key": value } })),
  );
  assert(gone && moved && tampered && whole);
  const rowsOf = (made: typeof gone) => secrets.get(made.job.taskId) ?? [];
  secrets.set(moved.job.taskId, rowsOf(whole));
  secrets.set(
    tampered.job.taskId,
    rowsOf(tampered).map((row) => ({
      ...row,
      sealed: Uint8Array.from(row.sealed, (b, at) => b ^ Number(at === 35)),
    })),
  );
  secrets.delete(gone.job.taskId);
  const errors = await Promise.all([gone, moved, tampered].map((made) => world.send(made)));
  assert.deepEqual(
    errors.map((outcome) => outcome.kind === "failed" && outcome.error),
    ["secret-missing", "secret-unreadable", "secret-unreadable"],
  );
  assert.equal(world.calls.length, 0);
  assert.equal((await world.send(whole)).kind, "answered");
  assert.equal(world.warned.length, 1, "one line a second");
  assert.doesNotMatch(JSON.stringify(world.warned), /X-Key/);
});

test("while the database is away, what is known serves for a little; then jobs go back unsent", async () => {
  const world = openSendingWorld();
  const made = await world.make({ headers: { "X-Key": "k" } });
  await world.send(made);
  world.away = "loadCallParts";
  await world.clock.advance(TASK_SECRETS_KNOWN_MS);
  assert.equal((await world.send(made)).kind, "answered");
  await world.clock.advance(TASK_SECRETS_KNOWN_MS_MAX);
  assert.deepEqual(await world.send(made), { kind: "unsent" });
  assert.equal(world.calls.length, 2);
  world.away = null;
  assert.equal((await world.send(made)).kind, "answered");
});

/** The database answers a question for what calls need after so long. */
function slowDown(world: ReturnType<typeof openSendingWorld>, answersAfterMs: number) {
  const { tasks } = world.shard;
  const { loadCallParts } = tasks;
  tasks.loadCallParts = async (request) => {
    await world.clock.sleep(answersAfterMs);
    return loadCallParts.call(tasks, request);
  };
}

const withTimeout = <Made extends { readonly job: ClaimedJob }>(made: Made, timeoutMs: number) => ({
  ...made,
  job: { ...made.job, timeoutMs },
});

/** Sends, and tells when the call left, in ms from now, and what it was given. */
async function sendNow(
  world: ReturnType<typeof openSendingWorld>,
  made: Parameters<typeof world.send>[0],
) {
  const { clock, calls } = world;
  const startMs = clock.monotonicMs();
  const before = calls.length;
  const sending = world.send(made).then((outcome) => {
    const tookMs = clock.monotonicMs() - startMs;
    return { outcome, tookMs, timeoutMs: calls[before]?.timeoutMs ?? null };
  });
  await clock.advance(20_000);
  return sending;
}

test("a database that takes its time costs a job none of its own, and no attempt", async () => {
  for (const answersAfterMs of [300, 1_500, 4_900]) {
    const world = openSendingWorld();
    const made = await world.make({ headers: { "X-Key": "k" } });
    slowDown(world, answersAfterMs);
    const { outcome, tookMs, timeoutMs } = await sendNow(world, withTimeout(made, 1_000));
    assert.equal(outcome.kind, "answered");
    assert.deepEqual([tookMs, timeoutMs], [answersAfterMs, 1_000]);
  }
});

test("while the database is slow, secrets that are known serve: a call waits 2 s for younger ones, the next ones not at all", async () => {
  const world = openSendingWorld();
  const { clock } = world;
  const [made, other] = await Promise.all(["k", "l"].map((k) => world.make({ headers: { k } })));
  assert(made && other);
  await Promise.all([world.send(made), world.send(other)]);
  await clock.advance(TASK_SECRETS_KNOWN_MS);
  const startMs = clock.monotonicMs();
  slowDown(world, 4_000);
  const ended: number[] = [];
  const send = async (one: typeof made) => {
    assert.equal((await world.send(one)).kind, "answered");
    ended.push(clock.monotonicMs() - startMs);
  };
  const sending = [send(made)];
  await clock.advance(1_000);
  sending.push(send(other));
  await clock.advance(2_000);
  sending.push(send(made));
  await clock.advance(0);
  await Promise.all(sending);
  assert.deepEqual(ended, [2_000, 2_000, 3_000]);
  await clock.advance(10_000);
  assert.equal(world.calls.length, 5);
});

test("known secrets of the greatest age are not sent at a greater one", async () => {
  const world = openSendingWorld();
  const made = await world.make({ headers: { "X-Key": "k" } });
  await world.send(made);
  await world.clock.advance(TASK_SECRETS_KNOWN_MS_MAX - 1);
  slowDown(world, 4_000);
  assert.equal((await sendNow(world, made)).tookMs, 4_000);
});

test("what does not come within 5 s is not waited for: the job goes back for a while, its slot to others", async () => {
  const slow = openSendingWorld();
  const bare = await slow.make({ headers: { "X-Key": "k" } });
  slowDown(slow, 15_000);
  const locked = openSendingWorld();
  const sealed = await locked.make({ headers: { "X-Key": "k" } });
  const opening = new Promise<never>(() => {});
  locked.keysWait = opening;
  for (const [world, made] of [
    [slow, bare],
    [locked, sealed],
  ] as const) {
    const scheduled = { ...made, job: { ...made.job, trigger: "schedule" as const } };
    const { outcome, tookMs } = await sendNow(world, scheduled);
    assert.deepEqual(outcome, { kind: "unsent", locked: true });
    assert.equal(tookMs, 5_000);
    assert.equal(world.calls.length, 0);
  }
});

test("what has been waiting when a worker stops goes back unsent", async () => {
  const world = openSendingWorld();
  const made = await world.make({ headers: { "X-Key": "k" } });
  slowDown(world, 1_000);
  const sending = world.send(made);
  await world.clock.advance(500);
  world.stop.abort();
  assert.deepEqual(await sending, { kind: "unsent" });
});

test("a token's fetch is within the timeout, which begins when the rest is there", async () => {
  const tokenUrl = "https://login.example.com/token";
  const credential: Credential = {
    type: "oauth2",
    tokenUrl,
    clientId: "c",
    clientSecret: new Secret("s"),
    scope: null,
  };
  const world = openSendingWorld(async (call) => {
    if (call.url !== tokenUrl) return {};
    await world.clock.sleep(fetchMs);
    return { responseBody: JSON.stringify({ access_token: "t", token_type: "Bearer" }) };
  });
  let fetchMs = 400;
  const made = withTimeout(await world.make({ credential }), 1_000);
  slowDown(world, 1_500);
  const { outcome, tookMs } = await sendNow(world, made);
  assert.deepEqual([outcome.kind, tookMs], ["answered", 1_900]);
  assert.equal(world.calls[1]?.timeoutMs, 600);
  await world.clock.advance(400_000);
  fetchMs = 3_000;
  const late = await sendNow(world, made);
  assert.deepEqual(late.outcome, { kind: "failed", error: "timeout", durationMs: 1_000 });
  assert.equal(late.tookMs, 2_500);
});

/** Sends a job whose token takes `fetchMs`, and gives its task these secrets 100 ms after the fetch has begun. */
async function sendWhileEdited(fetchMs: number, next: { key?: string; clientSecret?: string }) {
  const tokenUrl = "https://login.example.com/token";
  const given = ({ key = "old", clientSecret = "old" }) => ({
    headers: { "X-Key": `${key}-key` },
    credential: {
      ...({ type: "oauth2", tokenUrl, clientId: "c", scope: null } as const),
      clientSecret: new Secret(clientSecret),
    },
  });
  const settings = settingsOf(given(next));
  let fetches = 0;
  const world = openSendingWorld(async (call) => {
    if (call.url !== tokenUrl) return { responseBody: "old-key new-key" };
    await world.clock.sleep(100);
    if (fetches++ === 0) {
      const edit = () => ({ kind: "ok", settings }) as const;
      const secrets = settings.secrets ?? {};
      await editTask(world.deps, ACME, made.job.taskId, null, edit, { secrets });
    }
    await world.clock.sleep(fetchMs - 100);
    return { responseBody: `{"access_token":"t${fetches}","expires_in":0}` };
  });
  const made = await world.make(given({}));
  const { outcome } = await sendNow(world, made);
  const sent = () =>
    world.calls.filter(({ url }) => url !== tokenUrl).map(({ headers }) => headers);
  return { world, made, outcome, sent };
}

test("a secret that is changed while a token is waited for is sent as it is by then, on the job's own time", async () => {
  for (const fetchMs of [5_101, 9_000]) {
    const { world, outcome, sent } = await sendWhileEdited(fetchMs, { key: "new" });
    assert.equal(outcome.kind, "answered");
    assert.equal(outcome.kind === "answered" && outcome.responseBody, "[secret] [secret]");
    assert.deepEqual(
      sent().map((headers) => [headers["X-Key"], headers.authorization]),
      [["new-key", "Bearer t1"]],
    );
    assert.equal(world.calls.at(-1)?.timeoutMs, 30_000 - fetchMs);
  }
});

test("of a client that is changed meanwhile the token is not sent: the job goes back, and has the new one at its next turn", async () => {
  const { world, made, outcome, sent } = await sendWhileEdited(9_000, { clientSecret: "new" });
  assert.deepEqual(outcome, { kind: "unsent" });
  assert.deepEqual(sent(), []);
  assert.equal((await sendNow(world, made)).outcome.kind, "answered");
  assert.deepEqual(
    sent().map(({ authorization }) => authorization),
    ["Bearer t2"],
  );
});

test("without the master key nothing opens; with it again everything does", async () => {
  const world = openSendingWorld();
  const made = await world.make({ headers: { "X-Key": "k" } });
  world.keysAway = true;
  const scheduled = { ...made, job: { ...made.job, trigger: "schedule" as const } };
  const unsent = await world.send(scheduled);
  assert.deepEqual(unsent, { kind: "unsent", locked: true });
  const test = { ...made, job: { ...made.job, trigger: "test" as const } };
  assert.partialDeepStrictEqual(await world.send(test), {
    kind: "failed",
    error: "secrets-unavailable",
  });
  assert.equal(world.calls.length, 0);
  world.keysAway = false;
  await world.clock.advance(1_000);
  assert.equal((await world.send(made)).kind, "answered");
});

test("what a target repeats of its secrets is not kept", async () => {
  const basic: Credential = { type: "basic", username: "u", password: new Secret('p"ss\\word') };
  const echo = (call: Call) => JSON.stringify({ ...call.headers, again: 'p"ss\\word' });
  const world = openSendingWorld(async (call) => ({ responseBody: echo(call).slice(0, 1_024) }));
  const made = await world.make({ headers: { "X-Key": "hunter2-hunter2" }, credential: basic });
  const outcome = await world.send(made);
  assert(outcome.kind === "answered");
  assert.match(outcome.responseBody, /"X-Key":"\[secret\]"/);
  assert.match(outcome.responseBody, /"again":"\[secret\]"/);
  assert.match(outcome.responseBody, /"authorization":"Basic \[secret\]"/);
  const cut = openSendingWorld(async () => ({ responseBody: "you sent hunter2-hun" }));
  const other = await cut.send(await cut.make({ headers: { "X-Key": "hunter2-hunter2" } }));
  assert.equal(other.kind === "answered" && other.responseBody, "you sent [secret]");
});

test("a tenant's first signing secret is made once, by whoever comes first", async () => {
  const world = openSendingWorld();
  const made = await Promise.all(Array.from({ length: 10 }, () => world.make({})));
  await Promise.all(made.map((one) => world.send(one)));
  assert.equal(world.shards.tables.signingSecrets.get(ACME)?.length, 1);
  assert.ok(
    world.calls.every(({ headers }) => /^v1,\S+$/.test(headers["webhook-signature"] ?? "")),
  );
});

test("a signing secret that does not open fails the attempt: no call goes unsigned", async () => {
  const world = openSendingWorld();
  const made = await world.make({});
  await world.shard.secrets.keepSigningSecret(ACME, {
    id: "00".repeat(8),
    fingerprint: "00".repeat(32),
    sealed: randomBytes(80),
  });
  const failed = await world.send(made);
  assert.equal(failed.kind === "failed" && failed.error, "secret-unreadable");
  assert.equal(world.calls.length, 0);
});
