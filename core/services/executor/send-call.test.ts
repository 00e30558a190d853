/** What leaves with a call, and what does not: secrets as they are by then, signatures. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { TASK_SECRETS_KNOWN_MS, TASK_SECRETS_KNOWN_MS_MAX } from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import type { Credential } from "#core/domain/target-auth.ts";
import type { Call } from "#core/ports/caller.ts";
import { ACME, openSendingWorld, settingsOf } from "#test/support/sending-world.ts";
import { editTask } from "../tasks/edit-task.ts";

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
  assert.equal(loads, 2, "signing secrets, then the task's");
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
  assert.equal(loads, 3);
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
    found,
    made.map(({ version }) => version),
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

test("without the master key nothing opens; with it again everything does", async () => {
  const world = openSendingWorld();
  const made = await world.make({ headers: { "X-Key": "k" } });
  world.keysAway = true;
  const scheduled = { ...made, job: { ...made.job, trigger: "schedule" as const } };
  const unsent = await world.send(scheduled);
  assert.deepEqual(unsent, { kind: "unsent", why: "secrets-unavailable" });
  const test = { ...made, job: { ...made.job, trigger: "test" as const } };
  assert.partialDeepStrictEqual(await world.send(test), {
    kind: "failed",
    error: "secrets-unavailable",
  });
  assert.equal(world.calls.length, 0);
  world.keysAway = false;
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
