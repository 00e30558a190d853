import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import middy from "@middy/core";
import type { Context } from "aws-lambda";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { keyIdOfHash } from "#core/domain/key-id.ts";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import type { PrincipalStore } from "#core/ports/control-store.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import type { ApiEvent, ApiResult } from "./api-event.ts";
import { authenticate } from "./authenticate.ts";
import { answerProblems, findRoute } from "./middlewares.ts";
import type { Route } from "./routes.ts";

const ACME = "acme" as TenantId;
const ROLE = "arn:aws:iam::123456789012:role/Caller";
const SESSION = "arn:aws:sts::123456789012:assumed-role/Caller/i-0abc";
const SECRET = "atcron_not-for-anybody-else";

const routes: readonly Route[] = (["read", "write", null] as const).map((scope) => ({
  method: "GET",
  path: `/${scope}`,
  operation: "get",
  handler: "tasks-api",
  scope,
}));

const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");

type Credentials = {
  readonly headers?: Record<string, string>;
  readonly multiValueHeaders?: Record<string, string[]>;
  readonly userArn?: string;
  readonly authorizer?: unknown;
};

/** A handler that answers with the principal that it is given. */
function openApi() {
  const clock = new ManualClock();
  const control = new MemoryControlStore(clock);
  control.addKey(hashOf(SECRET), ACME, ["read"]);
  const asked: string[] = [];
  const logged: unknown[] = [];
  const note = (...line: unknown[]) => void logged.push(line);
  const api = { clock, control, asked, logged, fault: null as Error | null, call };
  const look = <T>(what: string, found: Promise<T>): Promise<T> => {
    asked.push(what);
    return api.fault === null ? found : Promise.reject(api.fault);
  };
  const store: PrincipalStore = {
    findPrincipalByKeyHash: (hash) => look(hash, control.findPrincipalByKeyHash(hash)),
    findPrincipalByArn: (arn) => look(arn, control.findPrincipalByArn(arn)),
  };
  const handler = middy(
    async ({ principal }: ApiEvent): Promise<ApiResult> => ({
      statusCode: 200,
      body: JSON.stringify(principal ?? null),
    }),
  )
    .use(findRoute(routes, clock))
    .use(authenticate(store, clock, systemDigest))
    .use(answerProblems({ info: note, warn: note, error: note }));

  async function call(path: string, { userArn, authorizer, ...headers }: Credentials = {}) {
    const event = {
      httpMethod: "GET",
      resource: path,
      headers: null,
      multiValueHeaders: null,
      requestContext: { requestId: "r", identity: { userArn: userArn ?? null }, authorizer },
      ...headers,
    };
    const answer = (await handler(event as unknown as ApiEvent, {} as Context)) as ApiResult;
    const body = JSON.parse(answer.body);
    return { status: answer.statusCode, headers: answer.headers ?? {}, body, text: answer.body };
  }
  return api;
}

const withKey = (key: string): Credentials => ({ headers: { "x-api-key": key } });

test("a key is found in whichever form the event has it", async () => {
  const { call } = openApi();
  for (const credentials of [
    withKey(SECRET),
    { headers: { "X-Api-Key": SECRET } },
    { headers: { "X-API-KEY": SECRET } },
    { multiValueHeaders: { "X-API-Key": [SECRET] } },
    { headers: { "x-api-key": SECRET }, multiValueHeaders: { "x-api-key": [SECRET, SECRET] } },
  ]) {
    const { status, body } = await call("/read", credentials);
    assert.equal(status, 200);
    assert.deepEqual(body, { tenantId: ACME, scopes: ["read"], quotas: QUOTAS_DEFAULT });
  }
});

test("without a key, with a wrong, a long or two different ones: 401 that says how to do better", async () => {
  const { call, asked } = openApi();
  for (const [credentials, detail] of [
    [{}, /API key is needed/],
    [withKey(""), /API key is needed/],
    [withKey("wrong"), /not known/],
    [withKey(hashOf(SECRET)), /not known/],
    [withKey("x".repeat(100_000)), /not known/],
    [withKey("' OR 1=1 -- "), /not known/],
    [{ multiValueHeaders: { "x-api-key": [SECRET, "wrong"] } }, /several/],
    [{ headers: { "x-api-key": SECRET, "X-Api-Key": "wrong" } }, /several/],
    [{ headers: { authorization: `Bearer ${SECRET}` } }, /needed, in the header x-api-key/],
  ] as const) {
    const { status, body, headers } = await call("/read", credentials as Credentials);
    assert.equal(status, 401);
    assert.match(body.detail, detail);
    assert.match(String(headers["www-authenticate"]), /^ApiKey realm=/);
  }
  assert.ok(asked.every((what) => /^[0-9a-f]{64}$/.test(what)));
});

test("an IAM caller acts for the tenant that its role is mapped to", async () => {
  const { call, control } = openApi();
  assert.equal((await control.mapPrincipal(ROLE, ACME, ["write"])).kind, "mapped");
  for (const credentials of [
    { userArn: SESSION },
    { userArn: "arn:aws:iam::123456789012:role/some/path/Caller" },
    { authorizer: { iam: { userArn: SESSION } } },
  ]) {
    const { status, body } = await call("/write", credentials);
    assert.deepEqual([status, body.tenantId, body.scopes], [200, ACME, ["write"]]);
  }
  assert.match((await call("/read", { userArn: SESSION })).body.detail, /scope "read"/);
  for (const userArn of [
    "arn:aws:sts::210987654321:assumed-role/Caller/i-0abc",
    "arn:aws:iam::123456789012:user/Caller",
    "not an arn",
  ]) {
    const { status, body } = await call("/write", { userArn });
    assert.equal(status, 403);
    assert.match(body.detail, /acts for no tenant/);
  }
});

test("a key comes before an IAM caller, also a wrong one", async () => {
  const { call, control } = openApi();
  await control.createTenant("other" as TenantId, "other");
  await control.mapPrincipal(ROLE, "other" as TenantId, ["read"]);
  const both = await call("/read", { ...withKey(SECRET), userArn: SESSION });
  assert.equal(both.body.tenantId, ACME);
  assert.equal((await call("/read", { ...withKey("wrong"), userArn: SESSION })).status, 401);
  assert.equal((await call("/read", { ...withKey(""), userArn: SESSION })).body.tenantId, "other");
});

test("a missing scope is named; a disabled tenant is 403, whatever the scope", async () => {
  const { call, control, clock } = openApi();
  const lacking = await call("/write", withKey(SECRET));
  assert.equal(lacking.status, 403);
  assert.match(lacking.body.detail, /the scope "write"; the caller has read/);
  await control.setTenantStatus(ACME, "disabled");
  await clock.advance(30_000);
  for (const path of ["/read", "/write"]) {
    const { status, body } = await call(path, withKey(SECRET));
    assert.equal(status, 403);
    assert.match(body.detail, /tenant acme is disabled/);
  }
  await control.setTenantStatus(ACME, "active");
  await clock.advance(30_000);
  assert.equal((await call("/read", withKey(SECRET))).status, 200);
});

test("a route without a scope needs nobody, and looks for nobody", async () => {
  const { call, asked } = openApi();
  assert.deepEqual((await call("/null")).body, null);
  assert.deepEqual((await call("/null", withKey(SECRET))).body, null);
  assert.deepEqual(asked, []);
});

test("a revoked key is refused 30 s later at the latest, a new one served after 5 s", async () => {
  const { call, control, clock } = openApi();
  assert.equal((await call("/read", withKey(SECRET))).status, 200);
  await control.revokeKey(keyIdOfHash(hashOf(SECRET)));
  await clock.advance(29_999);
  assert.equal((await call("/read", withKey(SECRET))).status, 200);
  await clock.advance(1);
  assert.equal((await call("/read", withKey(SECRET))).status, 401);
  assert.equal((await call("/read", withKey("new"))).status, 401);
  control.addKey(hashOf("new"), ACME, ["read"]);
  await clock.advance(5_000);
  assert.equal((await call("/read", withKey("new"))).status, 200);
});

test("quotas reach the handler within 30 s", async () => {
  const { call, control, clock } = openApi();
  await call("/read", withKey(SECRET));
  await control.setQuotas(ACME, { tasksMax: 3 });
  await clock.advance(30_000);
  const { body } = await call("/read", withKey(SECRET));
  assert.deepEqual(body.quotas, { ...QUOTAS_DEFAULT, tasksMax: 3 });
});

test("a database that is away is 503, never 401; who is known is served meanwhile", async () => {
  const api = openApi();
  const { call, clock, asked } = api;
  assert.equal((await call("/read", withKey(SECRET))).status, 200);
  api.fault = new StoreUnavailable("MySQL does not answer at 10.0.0.1");
  assert.equal((await call("/read", withKey(SECRET))).status, 200);
  for (const credentials of [withKey("other"), { userArn: SESSION }]) {
    const { status, headers, text } = await call("/read", credentials);
    assert.equal(status, 503);
    assert.equal(headers["retry-after"], "2");
    assert.doesNotMatch(text, /10\.0\.0\.1/);
  }
  await clock.advance(30_000);
  assert.equal((await call("/read", withKey(SECRET))).status, 503);
  api.fault = null;
  const before = asked.length;
  assert.equal((await call("/read", withKey(SECRET))).status, 200, "a failure is not remembered");
  assert.equal(asked.length, before + 1);
});

test("a look-up that never ends is 503 at the request's deadline", async () => {
  const clock = new ManualClock();
  const never = () => new Promise<never>(() => {});
  const store = { findPrincipalByKeyHash: never, findPrincipalByArn: never };
  const event = { route: routes[0], deadlineMs: clock.monotonicMs() + 10_000, ...withKey("a") };
  const { before } = authenticate(store, clock, systemDigest);
  const refused = assert.rejects(
    async () => before?.({ event } as unknown as Parameters<NonNullable<typeof before>>[0]),
    StoreUnavailable,
  );
  await clock.advance(10_000);
  await refused;
});

test("no answer and no log line has the key or its hash", async () => {
  const api = openApi();
  const { call, clock, logged } = api;
  const answers = [
    await call("/write", withKey(SECRET)),
    await call("/read", withKey(`${SECRET}x`)),
    await call("/read", { multiValueHeaders: { "x-api-key": [SECRET, `${SECRET}x`] } }),
  ];
  await clock.advance(30_000);
  api.fault = new StoreUnavailable("away");
  answers.push(await call("/read", withKey(SECRET)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [403, 401, 401, 503],
  );
  assert.equal(logged.length, 1);
  const all = JSON.stringify([answers, logged]);
  for (const secret of [SECRET, hashOf(SECRET)]) assert.ok(!all.includes(secret));
});
