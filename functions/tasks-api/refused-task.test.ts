/** What create and PATCH refuse, and which field they name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OWN_HEADERS } from "#core/domain/own-headers.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";
import { openApiInMemory } from "#test/support/api-in-memory.ts";
import { assertProblem, created, MINIMAL } from "#test/support/task-requests.ts";

const refused: readonly (readonly [string, object, readonly string[]])[] = [
  ["an unknown field", { colour: "red" }, ["colour"]],
  ["an unknown field inside", { retry: { tries: 3 } }, ["retry.tries"]],
  ["no schedule", { schedule: undefined }, ["schedule"]],
  ["no url", { request: {} }, ["request.url"]],
  ["null for what has no null", { request: null }, ["request"]],
  ["an empty name", { name: "" }, ["name"]],
  ["a name that is too long", { name: "x".repeat(201) }, ["name"]],
  ["a name of half a character", { name: "a\ud800" }, ["name"]],
  ["a name with a line break", { name: "a\nb" }, ["name"]],
  ["blanks around a name", { name: " a" }, ["name"]],
  ["a name that paths drop", { name: "." }, ["name"]],
  ["another", { name: ".." }, ["name"]],
  ["a tag given twice", { tags: ["a", "b", "a"] }, ["tags.2"]],
  ["too many tags", { tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }, ["tags"]],
  ["too many tags to look at each", { tags: Array(200_000).fill("a") }, ["tags"]],
  ["a priority of its own", { priority: "urgent" }, ["priority"]],
  ["timeout 0", { timeoutSeconds: 0 }, ["timeoutSeconds"]],
  ["timeout 901", { timeoutSeconds: 901 }, ["timeoutSeconds"]],
  ["a timeout as text", { timeoutSeconds: "30" }, ["timeoutSeconds"]],
  ["half a second", { timeoutSeconds: 1.5 }, ["timeoutSeconds"]],
  ["no attempt", { retry: { maxAttempts: 0 } }, ["retry.maxAttempts"]],
  ["21 attempts", { retry: { maxAttempts: 21 } }, ["retry.maxAttempts"]],
  [
    "an initial delay over 7 days",
    { retry: { initialDelaySeconds: 604_801 } },
    ["retry.initialDelaySeconds"],
  ],
  [
    "a longest delay over 7 days",
    { retry: { maxDelaySeconds: 604_801 } },
    ["retry.maxDelaySeconds"],
  ],
  ["a jitter over 1", { retry: { jitter: 1.1 } }, ["retry.jitter"]],
  ["a class of failures that there is not", { retry: { retryOn: ["6xx"] } }, ["retry.retryOn.0"]],
  ["410 among what is retried", { retry: { retryOn: ["5xx", "410"] } }, ["retry.retryOn.1"]],
  ["a status as a number", { retry: { retryOn: [429] } }, ["retry.retryOn.0"]],
  ["a class given twice", { retry: { retryOn: ["5xx", "5xx"] } }, ["retry.retryOn.1"]],
  [
    "too many classes to look at each",
    { retry: { retryOn: Array(200_000).fill("5xx") } },
    ["retry.retryOn"],
  ],
  ["a factor under 1", { retry: { factor: 0.5 } }, ["retry.factor"]],
  ["startAt without offset", { startAt: "2026-12-01T09:00:00" }, ["startAt"]],
  ["startAt on 30 February", { startAt: "2026-02-30T09:00:00Z" }, ["startAt"]],
  ["startAt as a number", { startAt: 1_780_000_000 }, ["startAt"]],
  [
    "endAt before startAt",
    { startAt: "2026-12-01T09:00:00Z", endAt: "2026-12-01T08:00:00Z" },
    ["endAt"],
  ],
  [
    "endAt at startAt",
    { startAt: "2026-12-01T09:00:00Z", endAt: "2026-12-01T10:00:00+01:00" },
    ["endAt"],
  ],
  ["half a character in the description", { description: "\ud800" }, ["description"]],
  ["NUL in the description", { description: "a\0b" }, ["description"]],
  ["no occurrence in the window", { endAt: "2026-06-01T10:00:00Z" }, ["schedule"]],
  ["several faults at once", { name: 1, priority: 2 }, ["name", "priority"]],
];

for (const [what, fields, names] of refused) {
  test(`refused with 422: ${what}`, async () => {
    await using api = await openApiInMemory();
    assertProblem(await api.acme("POST", "/v1/tasks", { ...MINIMAL, ...fields }), 422, names);
  });
}

const schedules: readonly (readonly [string, object, string])[] = [
  ["no type", {}, "type"],
  ["a field that it does not have", { type: "every", seconds: 1, tz: "UTC" }, "tz"],
  ["a cron of 4 fields", { type: "cron", expression: "* * * *" }, "expression"],
  [
    "a zone that there is not",
    { type: "cron", expression: "0 9 * * *", timezone: "Mars/Base" },
    "timezone",
  ],
  ["an epoch number", { type: "at", at: 1_780_000_000 }, "at"],
  ["0 seconds", { type: "every", seconds: 0 }, "seconds"],
];

for (const [what, schedule, field] of schedules) {
  test(`refused schedule, by create and by preview: ${what}`, async () => {
    await using api = await openApiInMemory();
    const created = await api.acme("POST", "/v1/tasks", { ...MINIMAL, schedule });
    assertProblem(created, 422, [`schedule.${field}`]);
    const preview = await api.acme("POST", "/v1/schedules/preview", { schedule });
    assertProblem(preview, 422, [`schedule.${field}`]);
  });
}

const requests: readonly (readonly [string, object, string])[] = [
  ["a relative url", { url: "/hook" }, "url"],
  ["another scheme", { url: "ftp://example.com/" }, "url"],
  ["a url without slashes", { url: "http:example.com" }, "url"],
  ["a user in the url", { url: "https://user:secret@example.com/" }, "url"],
  ["an empty user in the url", { url: "https://@example.com/" }, "url"],
  ["a line break in the url", { url: "https://example.com/\na" }, "url"],
  ["half a character in the url", { url: "https://example.com/\ud800" }, "url"],
  ["no host", { url: "https:///path" }, "url"],
  ["a port that is none", { url: "https://example.com:99999/" }, "url"],
  ["a url that is too long", { url: `https://example.com/${"x".repeat(4_096)}` }, "url"],
  ["a method of its own", { method: "TRACE" }, "method"],
  ["a method in lower case", { method: "post" }, "method"],
  ["a body with GET", { method: "GET", body: "x" }, "body"],
  ["binary with HEAD", { method: "HEAD", bodyBase64: "eA==" }, "bodyBase64"],
  ["two bodies", { body: "x", bodyBase64: "eA==" }, "bodyBase64"],
  ["no base64", { bodyBase64: "%%%" }, "bodyBase64"],
  ["base64 without padding", { bodyBase64: "eA" }, "bodyBase64"],
  ["half a character", { body: "\ud800" }, "body"],
  ["CR in a header", { headers: { "x-foo": "a\rb" } }, "headers.x-foo"],
  ["LF in a header", { headers: { "x-foo": "a\nb" } }, "headers.x-foo"],
  ["NUL in a header", { headers: { "x-foo": "a\0b" } }, "headers.x-foo"],
  ["a header outside Latin-1", { headers: { "x-foo": "€" } }, "headers.x-foo"],
  ["a header that is a number", { headers: { "x-foo": 1 } }, "headers.x-foo"],
  ["a header name with a blank", { headers: { "x foo": "a" } }, "headers.x foo"],
  ["Host", { headers: { Host: "evil.example" } }, "headers.Host"],
  ["Content-Length", { headers: { "content-length": "1" } }, "headers.content-length"],
  [
    "Transfer-Encoding",
    { headers: { "Transfer-Encoding": "chunked" } },
    "headers.Transfer-Encoding",
  ],
  ["Connection", { headers: { connection: "close" } }, "headers.connection"],
  ...[
    ...["expect", "host", "http2-settings", "keep-alive", "proxy-authenticate"],
    ...["proxy-authorization", "proxy-connection", "te", "trailer", "upgrade"],
  ].map((name) => [name, { headers: { [name]: "1" } }, `headers.${name}`] as const),
  ["our own header, in capitals", { headers: { "X-ATTEMPT": "1" } }, "headers.X-ATTEMPT"],
  ...OWN_HEADERS.map((name) => [name, { headers: { [name]: "1" } }, `headers.${name}`] as const),
  ["a header given twice", { headers: { "X-A": "1", "x-a": "2" } }, "headers.x-a"],
  [
    "too many headers",
    { headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`x-${i}`, "a"])) },
    "headers",
  ],
  ["headers that are too large", { headers: { "x-foo": "x".repeat(8_192) } }, "headers"],
];

for (const [what, request, field] of requests) {
  test(`refused request: ${what}`, async () => {
    await using api = await openApiInMemory();
    const body = { ...MINIMAL, request: { ...MINIMAL.request, ...request } };
    assertProblem(await api.acme("POST", "/v1/tasks", body), 422, [`request.${field}`]);
  });
}

test("a body of 256 KB is taken, one byte more is 413, counted in bytes", async () => {
  await using api = await openApiInMemory();
  const emoji = "😀".repeat(65_536);
  const post = (request: object) =>
    api.acme("POST", "/v1/tasks", { ...MINIMAL, request: { ...MINIMAL.request, ...request } });
  const taken = await post({ body: emoji });
  assert.equal(taken.status, 201);
  assert.equal((await api.acme("GET", `/v1/tasks/${taken.body.id}`)).body.request.body, emoji);
  const tooLarge = await post({ body: `${emoji}x` });
  assertProblem(tooLarge, 413, ["request.body"]);
  assertProblem(await post({ bodyBase64: Buffer.alloc(262_145).toString("base64") }), 413);
  assert.equal((await post({ bodyBase64: Buffer.alloc(262_144).toString("base64") })).status, 201);
});

test("of too many headers none is looked at, or sealed: the record is refused as a whole", async () => {
  const away = async () => {
    throw new SecretsUnavailable("the key service does not answer");
  };
  await using api = await openApiInMemory({}, { generate: away, unwrap: away });
  const { id } = await created(api.acme);
  const path = `/v1/tasks/${id}`;
  // Each would have its own fault.
  const record = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`no name ${n}`, "€"]));
  for (const field of ["headers", "secretHeaders"]) {
    const names = [`request.${field}`];
    const tooMany = { ...MINIMAL, request: { ...MINIMAL.request, [field]: record(51) } };
    assertProblem(await api.acme("POST", "/v1/tasks", tooMany), 422, names);
    assertProblem(await api.acme("PUT", "/v1/tasks/by-name/digest", tooMany), 422, names);
    const bulk = await api.acme("POST", "/v1/tasks/bulk", { items: [MINIMAL, tooMany] });
    const [taken, { status, problem }] = bulk.body.items;
    assert.deepEqual([taken.status, status], [201, 422]);
    const message = "must have at most 50 headers";
    assert.deepEqual(problem.errors, [{ field: names[0], message }]);
    for (const at of [path, path.slice(0, -8) + "0".repeat(8)]) {
      const patch = { request: { [field]: record(101) } };
      assertProblem(await api.acme("PATCH", at, patch), 422, names);
    }
  }
  const run = { request: { headers: record(51) } };
  assertProblem(await api.acme("POST", `${path}/run`, run), 422, ["request.headers"]);
});

test("a patch may take away as many headers as there are, and set as many", async () => {
  await using api = await openApiInMemory();
  const record = <Value>(from: number, value: Value) =>
    Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x-${from + n}`, value]));
  for (const field of ["headers", "secretHeaders"]) {
    const request = { ...MINIMAL.request, [field]: record(0, "a") };
    const { id } = await created(api.acme, { request });
    const patch = { request: { [field]: { ...record(0, null), ...record(50, "b") } } };
    const { status, text, body } = await api.acme("PATCH", `/v1/tasks/${id}`, patch);
    assert.equal(status, 200, text);
    assert.deepEqual(Object.keys(body.request[field]).sort(), Object.keys(record(50, "")).sort());
  }
});

test("a header called __proto__ is refused and not dropped", async () => {
  await using api = await openApiInMemory();
  const raw =
    '{"schedule":{"type":"every","seconds":60},"request":{"url":"https://a.example/","headers":{"__proto__":"x"}}}';
  assertProblem(await api.acme("POST", "/v1/tasks", undefined, { raw }), 400);
});

test("PATCH refuses what create refuses, and says which field", async () => {
  await using api = await openApiInMemory();
  const { id } = await created(api.acme);
  const patch = (body: unknown) => api.acme("PATCH", `/v1/tasks/${id}`, body);
  assertProblem(await patch({ status: "paused" }), 422, ["status"]);
  assertProblem(await patch({ colour: null }), 422, ["colour"]);
  assertProblem(await patch({ request: { url: null } }), 422, ["request.url"]);
  assertProblem(await patch({ schedule: null }), 422, ["schedule"]);
  assertProblem(await patch({ schedule: { expression: "0 10 * * *" } }), 422, ["schedule.type"]);
  assertProblem(await patch({ request: "x" }), 422, ["request"]);
  assertProblem(await patch({ request: { headers: "x" } }), 422, ["request.headers"]);
  assertProblem(await patch([]), 422, [""]);
  assertProblem(await patch({ request: { body: "x".repeat(262_145) } }), 413);
  assert.equal((await api.acme("GET", `/v1/tasks/${id}`)).body.version, 1);
});
