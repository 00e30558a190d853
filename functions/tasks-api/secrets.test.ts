/** Secrets in the API: written, never read; kept by edits that do not name them. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TaskId } from "#core/domain/ids.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";
import type { ApiAnswer } from "#test/support/api-client.ts";
import { type ApiInMemory, openApiInMemory } from "#test/support/api-in-memory.ts";

const MINIMAL = {
  schedule: { type: "every", seconds: 3_600 },
  request: { url: "https://example.com/hook" },
};
const FINGERPRINT = /^[0-9a-f]{8}$/;
const OAUTH2 = {
  type: "oauth2",
  tokenUrl: "https://login.example.com/token",
  clientId: "client",
  clientSecret: "plain-client-secret",
};

const withRequest = (request: object) => ({
  ...MINIMAL,
  request: { ...MINIMAL.request, ...request },
});

async function create(api: ApiInMemory, request: object) {
  const answer = await api.acme("POST", "/v1/tasks", withRequest(request));
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

function assertRefused(answer: ApiAnswer, fields: readonly string[]): void {
  assert.equal(answer.status, 422, answer.text);
  assert.deepEqual(
    answer.body.errors.map(({ field }: { field: string }) => field),
    fields.map((field) => `request.${field}`),
    answer.text,
  );
}

type Stored = Readonly<Record<string, string>>;

/** The task's secrets as they are stored, by name: sealed anew whenever they are written. */
function stored(api: ApiInMemory, { id }: { id: string }): Stored {
  const rows = api.shards.tables.secrets.get(id as TaskId) ?? [];
  return Object.fromEntries(
    rows.map(({ name, sealed }) => [name, Buffer.from(sealed).toString("hex")]),
  );
}

function written(before: Stored, after: Stored): string[] {
  return Object.keys(after).filter((name) => after[name] !== before[name]);
}

test("what is kept of a create with a key tells no secret to who guesses it", async () => {
  await using api = await openApiInMemory();
  const key = { headers: { "idempotency-key": "k" } };
  const post = (body: object, tenant = "acme") => api.as(tenant)("POST", "/v1/tasks", body, key);
  const plain = withRequest({ body: "no secret" });
  const headers = withRequest({ secretHeaders: { "x-api-key": "hunter2" } });
  const auth = withRequest({ auth: { type: "basic", username: "u", password: "hunter2" } });
  for (const [body, isGuessed] of [
    [plain, true],
    [headers, false],
    [auth, false],
  ] as const) {
    api.shards.tables.answers.clear();
    assert.equal((await post(body)).status, 201);
    assert.equal((await post(body, "other")).status, 201);
    const hashes = [...api.shards.tables.answers.values()].map(({ bodyHash }) => bodyHash);
    const guess = createHash("sha256").update(JSON.stringify(body)).digest("hex");
    assert.equal(hashes.length, 2);
    assert.equal(hashes.includes(guess), isGuessed);
    assert.equal(new Set(hashes).size, isGuessed ? 1 : 2, "another tenant's says nothing");
    assert.equal((await post(body)).headers.get("idempotency-replayed"), "true");
    assert.equal((await post({ ...body, name: "another" })).status, 422);
  }
});

test("nor does what is kept of many at once, also where the one with the secret was refused", async () => {
  await using api = await openApiInMemory();
  const key = { headers: { "idempotency-key": "k" } };
  const secret = withRequest({ secretHeaders: { "x-api-key": "hunter2" } });
  for (const item of [
    withRequest({ body: "no secret" }),
    secret,
    { ...secret, priority: "most" },
  ] as const) {
    api.shards.tables.answers.clear();
    const body = { items: [withRequest({}), item] };
    const post = () => api.acme("POST", "/v1/tasks/bulk", body, key);
    const { text } = await post();
    const [kept, ...more] = [...api.shards.tables.answers.values()];
    const guess = createHash("sha256").update(JSON.stringify(body)).digest("hex");
    assert.deepEqual([kept?.bodyHash === guess, more.length], [false, 0]);
    const again = await post();
    assert.deepEqual([again.headers.get("idempotency-replayed"), again.text], ["true", text]);
    assert.ok(!JSON.stringify([text, kept]).includes("hunter2"));
  }
});

test("secrets are answered as names with fingerprints, in create, read, list, run and replay", async () => {
  await using api = await openApiInMemory();
  const secrets = ["plain-one", "plain-two", "plain-client-secret"];
  const headers = { "X-Api-Key": "plain-one", "x-other": "plain-two" };
  const body = withRequest({ secretHeaders: headers, auth: OAUTH2 });
  const key = { headers: { "idempotency-key": "k" } };
  const made = await api.acme("POST", "/v1/tasks", body, key);
  assert.equal(made.status, 201, made.text);
  const { secretHeaders, auth } = made.body.request;
  assert.deepEqual(Object.keys(secretHeaders), ["X-Api-Key", "x-other"]);
  assert.match(secretHeaders["X-Api-Key"].fingerprint, FINGERPRINT);
  assert.notEqual(secretHeaders["X-Api-Key"].fingerprint, secretHeaders["x-other"].fingerprint);
  const { fingerprint, ...shown } = auth;
  assert.match(fingerprint, FINGERPRINT);
  const { clientSecret: _, ...open } = OAUTH2;
  assert.deepEqual(shown, { ...open, scope: null });
  const path = `/v1/tasks/${made.body.id}`;
  const got = await api.acme("GET", path);
  assert.deepEqual(got.body, made.body);
  const ran = await api.acme("POST", `${path}/run`);
  assert.deepEqual(ran.body.request.secretHeaders, { "X-Api-Key": {}, "x-other": {} });
  assert.deepEqual(ran.body.request.auth, shown);
  const answers = [
    made,
    got,
    ran,
    await api.acme("GET", "/v1/tasks"),
    await api.acme("POST", "/v1/tasks", body, key),
    await api.acme("GET", `/v1/jobs/${ran.body.id}`),
    await api.acme("GET", `${path}/jobs`),
  ];
  for (const { status, text } of answers) {
    assert.ok(status < 300);
    for (const secret of secrets) assert.ok(!text.includes(secret), text);
  }
  const { tables } = api.shards;
  const stored = [tables.tasks, tables.versions, tables.jobs, tables.answers].map((rows) => [
    ...rows,
  ]);
  for (const secret of secrets) assert.ok(!JSON.stringify(stored).includes(secret));
});

test("while the master key is away a write with secrets is 503 and says so, also under a key; others are served", async () => {
  const away = async () => {
    throw new SecretsUnavailable("the key service does not answer");
  };
  await using api = await openApiInMemory({}, { generate: away, unwrap: away });
  const { id } = await create(api, {});
  const secret = { secretHeaders: { "x-a": "1" } };
  const key = { headers: { "idempotency-key": "k" } };
  for (const answer of [
    await api.acme("POST", "/v1/tasks", withRequest(secret)),
    await api.acme("POST", "/v1/tasks", withRequest(secret), key),
    await api.acme("PATCH", `/v1/tasks/${id}`, { request: secret }),
  ]) {
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.body.detail, "the master key of secrets is away: try again");
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
  }
  assert.equal((await api.acme("POST", "/v1/tasks", MINIMAL, key)).status, 201);
});

test("names of secret headers have at most 256 characters", async () => {
  await using api = await openApiInMemory();
  const named = (length: number) => ({ secretHeaders: { ["x".repeat(length)]: "v" } });
  const { id, request } = await create(api, named(256));
  assert.deepEqual(Object.keys(request.secretHeaders), ["x".repeat(256)]);
  for (const answer of [
    await api.acme("POST", "/v1/tasks", withRequest(named(257))),
    await api.acme("PATCH", `/v1/tasks/${id}`, { request: named(257) }),
  ]) {
    assert.equal(answer.status, 422, answer.text);
    assert.match(
      answer.body.detail,
      /^request.secretHeaders.x+: must have at most 256 characters$/,
    );
  }
});

test("a fingerprint is the same for a secret of one tenant, and says nothing about another's", async () => {
  await using api = await openApiInMemory();
  const body = withRequest({ secretHeaders: { "x-a": "same" } });
  const mark = async (client: ApiInMemory["acme"]) =>
    (await client("POST", "/v1/tasks", body)).body.request.secretHeaders["x-a"].fingerprint;
  const [first, second] = [await mark(api.acme), await mark(api.acme)];
  assert.equal(first, second);
  assert.notEqual(first, await mark(api.as("other")));
});

test("PATCH keeps what it does not name, changes what it names, null takes away", async () => {
  await using api = await openApiInMemory();
  const task = await create(api, { secretHeaders: { "X-A": "1", "X-B": "2" }, auth: OAUTH2 });
  const first = stored(api, task);
  const patch = async (request: object, status = 200) => {
    const answer = await api.acme("PATCH", `/v1/tasks/${task.id}`, { request });
    assert.equal(answer.status, status, answer.text);
    return answer.body;
  };
  const other = await patch({ headers: { "x-plain": "p" } });
  assert.deepEqual(other.request.secretHeaders, task.request.secretHeaders);
  assert.deepEqual(other.request.auth, task.request.auth);
  const rotated = await patch({ secretHeaders: { "x-a": "3", "X-C": "4" } });
  assert.deepEqual(Object.keys(rotated.request.secretHeaders), ["x-a", "X-B", "X-C"]);
  const second = stored(api, task);
  assert.deepEqual(Object.keys(second), ["auth", "header:x-a", "header:x-b", "header:x-c"]);
  assert.deepEqual(written(first, second), ["header:x-a", "header:x-c"]);
  assert.equal(rotated.version, 3);
  const fewer = await patch({ secretHeaders: { "X-B": null, "x-c": null }, auth: null });
  assert.deepEqual(Object.keys(fewer.request.secretHeaders), ["x-a"]);
  assert.equal(fewer.request.auth, undefined);
  assert.deepEqual(stored(api, task), { "header:x-a": second["header:x-a"] });
  const none = await patch({ secretHeaders: null });
  assert.equal(none.request.secretHeaders, undefined);
  assert.deepEqual(stored(api, task), {});
});

test("a secret that is rotated makes no new version of the request; the same one again changes nothing", async () => {
  await using api = await openApiInMemory();
  const task = await create(api, {
    secretHeaders: { "X-A": "1" },
    auth: { type: "bearer", token: "t1" },
  });
  const requestVersion = () => api.shards.tables.tasks.get(task.id)?.requestVersion;
  const patch = (request: object) => api.acme("PATCH", `/v1/tasks/${task.id}`, { request });
  const first = stored(api, task);
  await patch({ auth: { type: "bearer", token: "t2" } });
  const second = stored(api, task);
  assert.deepEqual([written(first, second), requestVersion()], [["auth"], 1]);
  const same = await patch({
    secretHeaders: { "X-A": "1" },
    auth: { type: "bearer", token: "t2" },
  });
  assert.equal(same.body.version, 2);
  assert.deepEqual(stored(api, task), second);
  await patch({ auth: { type: "basic", username: "u", password: "t2" } });
  assert.deepEqual([written(second, stored(api, task)), requestVersion()], [["auth"], 2]);
});

test("what was read can be written back: a fingerprint keeps its secret, a wrong one is refused", async () => {
  await using api = await openApiInMemory();
  const put = (request: object) => api.acme("PUT", "/v1/tasks/by-name/a", withRequest(request));
  const given = {
    secretHeaders: { "X-A": "1" },
    auth: { type: "basic", username: "u", password: "p" },
  };
  const { body: task } = await put(given);
  const { request } = task;
  const patched = await api.acme("PATCH", `/v1/tasks/${task.id}`, { request });
  assert.deepEqual(patched.body, task);
  const replaced = await put({ secretHeaders: request.secretHeaders, auth: request.auth });
  assert.deepEqual(replaced.body, task);
  assert.deepEqual((await put(given)).body, task, "and the secrets themselves are the same");
  const wrong = { fingerprint: "00000000" };
  assertRefused(await put({ secretHeaders: { "X-A": wrong } }), ["secretHeaders.X-A"]);
  assertRefused(await put({ secretHeaders: { "X-B": wrong } }), ["secretHeaders.X-B"]);
  assertRefused(await put({ auth: { ...request.auth, username: "v" } }), ["auth.fingerprint"]);
  assertRefused(await api.acme("POST", "/v1/tasks", withRequest({ auth: request.auth })), [
    "auth.fingerprint",
  ]);
  const bare = await put({});
  assert.deepEqual([bare.status, stored(api, task)], [200, {}], "a PUT without them has none");
});

test("a deleted task leaves no secret, of many made at once each has its own", async () => {
  await using api = await openApiInMemory();
  const items = ["1", "2"].map((value) => withRequest({ secretHeaders: { "X-A": value } }));
  const bulk = await api.acme("POST", "/v1/tasks/bulk", {
    items: [...items, withRequest({ auth: {} })],
  });
  assert.deepEqual(
    bulk.body.items.map(({ status }: { status: number }) => status),
    [201, 201, 422],
  );
  const [a, b] = bulk.body.items.map(({ task }: { task: { id: string } }) => task);
  const [ofA, ofB] = [stored(api, a), stored(api, b)];
  assert.deepEqual([Object.keys(ofA), Object.keys(ofB)], [["header:x-a"], ["header:x-a"]]);
  assert.equal((await api.acme("DELETE", `/v1/tasks/${a.id}`)).status, 204);
  assert.deepEqual([stored(api, a), stored(api, b)], [{}, ofB]);
});

const PLAIN = "hunter2";
const many = (name: string) =>
  Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`${name}-${i}`, "a"]));
const refused: readonly (readonly [string, object, readonly string[]])[] = [
  [
    "a header that is plain too",
    { headers: { "x-a": "1" }, secretHeaders: { "X-A": PLAIN } },
    ["secretHeaders.X-A"],
  ],
  ["a header of ours", { secretHeaders: { "Webhook-Id": PLAIN } }, ["secretHeaders.Webhook-Id"]],
  ["a header of the connection", { secretHeaders: { Host: PLAIN } }, ["secretHeaders.Host"]],
  ["a line break", { secretHeaders: { "x-a": `${PLAIN}\r\nx: y` } }, ["secretHeaders.x-a"]],
  [
    "a header given twice",
    { secretHeaders: { "x-a": PLAIN, "X-A": PLAIN } },
    ["secretHeaders.X-A"],
  ],
  ["no text", { secretHeaders: { "x-a": 1 } }, ["secretHeaders.x-a"]],
  [
    "no fingerprint",
    { secretHeaders: { "x-a": { fingerprint: PLAIN } } },
    ["secretHeaders.x-a.fingerprint"],
  ],
  [
    "too much",
    { headers: { "x-a": "a".repeat(5_000) }, secretHeaders: { "x-b": "b".repeat(5_000) } },
    ["secretHeaders"],
  ],
  ["too many", { headers: many("x"), secretHeaders: many("y") }, ["secretHeaders"]],
  [
    "our signature in plain headers",
    { headers: { "webhook-signature": "v1,a" } },
    ["headers.webhook-signature"],
  ],
  ["no kind of auth", { auth: { type: "magic", token: PLAIN } }, ["auth.type"]],
  ["no token", { auth: { type: "bearer" } }, ["auth.token"]],
  ["an empty token", { auth: { type: "bearer", token: "" } }, ["auth.token", "auth.token"]],
  ["a token with a blank", { auth: { type: "bearer", token: `${PLAIN} x` } }, ["auth.token"]],
  [
    "a token and its fingerprint",
    { auth: { type: "bearer", token: PLAIN, fingerprint: "00000000" } },
    ["auth.fingerprint"],
  ],
  [
    "a user name with a colon",
    { auth: { type: "basic", username: "a:b", password: PLAIN } },
    ["auth.username"],
  ],
  [
    "a password with NUL",
    { auth: { type: "basic", username: "a", password: `${PLAIN}\0` } },
    ["auth.password"],
  ],
  [
    "a token URL that is none",
    { auth: { ...OAUTH2, clientSecret: PLAIN, tokenUrl: "ftp://a" } },
    ["auth.tokenUrl"],
  ],
  ["half a character", { auth: { ...OAUTH2, clientSecret: "\ud800" } }, ["auth.clientSecret"]],
  ["another field", { auth: { ...OAUTH2, clientSecret: PLAIN, audience: "a" } }, ["auth.audience"]],
  [
    "auth and the header",
    { headers: { AUTHORIZATION: "a" }, auth: { type: "bearer", token: PLAIN } },
    ["auth"],
  ],
];

for (const [what, request, fields] of refused)
  test(`refused: ${what}`, async () => {
    await using api = await openApiInMemory();
    const answer = await api.acme("POST", "/v1/tasks", withRequest(request));
    assertRefused(answer, fields);
    assert.ok(!answer.text.includes(PLAIN), answer.text);
  });

test("a run by hand cannot lay a header over a secret", async () => {
  await using api = await openApiInMemory();
  const task = await create(api, {
    secretHeaders: { "X-A": "1" },
    auth: { type: "bearer", token: "t" },
  });
  const run = (headers: object) =>
    api.acme("POST", `/v1/tasks/${task.id}/run`, { request: { headers } });
  assertRefused(await run({ "x-a": "2" }), ["headers.x-a"]);
  assertRefused(await run({ Authorization: "2" }), ["headers.Authorization"]);
  assert.equal((await run({ "x-b": "2" })).status, 202);
});

test("signing secrets: shown once, valid for a day more, read by fingerprint, rotated by admins only", async () => {
  await using api = await openApiInMemory();
  const list = () => api.acme("GET", "/v1/signing-secret");
  const rotate = () => api.acme("POST", "/v1/signing-secret/rotate");
  assert.deepEqual((await list()).body, { items: [] });
  const first = await rotate();
  assert.equal(first.status, 200, first.text);
  assert.equal(first.headers.get("cache-control"), "no-store");
  assert.match(first.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  await api.clock.advance(1_000);
  const second = await rotate();
  assert.notEqual(second.body.secret, first.body.secret);
  const [newest, before, ...more] = second.body.items;
  assert.deepEqual([more, newest.expiresAt], [[], null]);
  assert.equal(before.id, first.body.items[0].id);
  assert.equal(before.expiresAt, "2026-06-02T09:00:01.000Z");
  assert.deepEqual((await list()).body, { items: second.body.items });
  assert.ok(!(await list()).text.includes("whsec_"));
  await api.clock.advance(86_400_000);
  assert.deepEqual((await list()).body.items, [newest]);
  assert.deepEqual((await api.as("other")("GET", "/v1/signing-secret")).body, { items: [] });
  const writer = api.as("acme", ["read", "write"]);
  assert.equal((await writer("POST", "/v1/signing-secret/rotate")).status, 403);
});

test("the answer of a rotation is lost: asking again leaves what endpoints verify with its day", async () => {
  let isLost = false;
  await using api = await openApiInMemory({
    async afterCommit(verb) {
      if (isLost && verb === "rotateSigningSecret")
        throw new StoreUnavailable("the answer is lost");
    },
  });
  const rotate = () => api.acme("POST", "/v1/signing-secret/rotate");
  const valid = async (): Promise<string[]> =>
    (await api.acme("GET", "/v1/signing-secret")).body.items.map(({ id }: { id: string }) => id);
  const used = (await rotate()).body.items[0].id;
  await api.clock.advance(90 * 86_400_000);
  isLost = true;
  assert.equal((await rotate()).status, 503);
  isLost = false;
  await api.clock.advance(1_000);
  await rotate();
  await api.clock.advance(86_400_000 - 1_001);
  assert.ok((await valid()).includes(used));
  await api.clock.advance(1);
  assert.ok(!(await valid()).includes(used));
});
