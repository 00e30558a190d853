/** Access tokens as calls get them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TOKEN_FETCH_MS_MAX } from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import type { Credential } from "#core/domain/target-auth.ts";
import type { Call, CallOutcome } from "#core/ports/caller.ts";
import { settle } from "#test/support/manual-clock.ts";
import { ACME, type Endpoint, openSendingWorld } from "#test/support/sending-world.ts";

const TOKEN_URL = "https://login.example.com/token";
const CLIENT: Credential = {
  type: "oauth2",
  tokenUrl: TOKEN_URL,
  clientId: "client id",
  clientSecret: new Secret("s+cr/et"),
  scope: "a b",
};

const tokenEndpoint =
  (tokens: readonly string[], status: (token: string) => number = () => 200): Endpoint =>
  async (call) => {
    if (call.url !== TOKEN_URL)
      return { statusCode: status(call.headers.authorization?.slice("Bearer ".length) ?? "") };
    const body = {
      access_token: tokens[nth++ % tokens.length],
      token_type: "Bearer",
      expires_in: 3_600,
    };
    return { responseBody: JSON.stringify(body) };
  };
let nth = 0;

const authorizations = (calls: readonly Call[]) =>
  calls.filter(({ url }) => url !== TOKEN_URL).map(({ headers }) => headers.authorization);

test("a token is fetched once for all who wait, sent with the next calls, and fetched again in time", async () => {
  const world = openSendingWorld(tokenEndpoint(["t1", "t2"]));
  nth = 0;
  const made = await Promise.all(
    Array.from({ length: 5 }, () => world.make({ credential: CLIENT })),
  );
  await Promise.all(made.map((one) => world.send(one)));
  const fetches = () => world.calls.filter(({ url }) => url === TOKEN_URL);
  assert.equal(fetches().length, 1, "five tasks of one credential");
  const [fetch] = fetches();
  const basic = Buffer.from("client+id:s%2Bcr%2Fet").toString("base64");
  assert.equal(fetch?.headers.authorization, `Basic ${basic}`);
  assert.equal(fetch?.body, "grant_type=client_credentials&scope=a+b");
  assert.deepEqual(
    [fetch?.method, fetch?.tenantId, fetch?.timeoutMs],
    ["POST", ACME, TOKEN_FETCH_MS_MAX],
  );
  assert.ok(!("webhook-id" in (fetch?.headers ?? {})));
  await world.clock.advance(3_500_000);
  const [first] = made;
  assert(first);
  await world.send(first);
  assert.equal(fetches().length, 1);
  await world.clock.advance(70_000);
  await world.send(first);
  assert.equal(fetches().length, 2);
  assert.equal(authorizations(world.calls).at(-1), "Bearer t2");
});

test("a 401 of the target drops its token once, and again only after one that was taken", async () => {
  nth = 0;
  let refused = new Set(["t0"]);
  const world = openSendingWorld(
    tokenEndpoint(["t0", "t1", "t2", "t3"], (token) => (refused.has(token) ? 401 : 200)),
  );
  const made = await world.make({ credential: CLIENT });
  const statuses: unknown[] = [];
  const call = async () => {
    const outcome = await world.send(made);
    statuses.push(outcome.kind === "answered" && outcome.statusCode);
  };
  await call();
  await call();
  refused = new Set(["t1", "t2"]);
  for (let n = 0; n < 4; n++) await call();
  assert.deepEqual(statuses, [401, 200, 401, 401, 401, 401]);
  assert.deepEqual(
    authorizations(world.calls),
    ["t0", "t1", "t1", "t2", "t2", "t2"].map((t) => `Bearer ${t}`),
  );
});

test("a rotated credential has a token of its own", async () => {
  nth = 0;
  const world = openSendingWorld(tokenEndpoint(["t0", "t1"]));
  await world.send(await world.make({ credential: CLIENT }));
  await world.send(
    await world.make({ credential: { ...CLIENT, clientSecret: new Secret("other") } }),
  );
  assert.deepEqual(authorizations(world.calls), ["Bearer t0", "Bearer t1"]);
});

test("a token endpoint that fails is auth-failed, asked at most once a second, and its answer is kept nowhere", async () => {
  const answers: Endpoint[] = [
    async () => ({ statusCode: 500, responseBody: "hunter2" }),
    async () => ({ statusCode: 302 }),
    async () => ({ responseBody: "hunter2" }),
    async () => ({ responseBody: '{"access_token":"a b"}' }),
    async () => ({ responseBody: '{"access_token":"a\\r\\nx: y"}' }),
    async () => ({ responseBody: '{"access_token":""}' }),
    async () => ({ responseBody: '{"access_token":"a","token_type":"mac"}' }),
    async () => ({ responseBody: "null" }),
  ];
  for (const answer of answers) {
    const world = openSendingWorld(answer);
    const made = await world.make({ credential: CLIENT });
    for (let n = 0; n < 3; n++) {
      const { durationMs: _, ...failed } = (await world.send(made)) as Extract<
        CallOutcome,
        { kind: "failed" }
      >;
      assert.deepEqual(failed, { kind: "failed", error: "auth-failed" });
    }
    assert.equal(world.calls.length, 1);
    await world.clock.advance(1_000);
    await world.send(made);
    assert.equal(world.calls.length, 2);
    assert.doesNotMatch(JSON.stringify(world.warned), /hunter2/);
  }
});

test("waiting for a token counts as the call's time, and ends when the executor stops", async () => {
  const world = openSendingWorld(async (call, signal) => {
    if (call.url === TOKEN_URL) {
      await world.clock.sleep(9_000, signal);
      return { responseBody: '{"access_token":"t"}' };
    }
    return {};
  });
  const made = await world.make({ credential: CLIENT });
  const first = world.send(made);
  await world.clock.advance(9_000);
  assert.equal((await first).kind, "answered");
  assert.equal(world.calls.at(-1)?.timeoutMs, 21_000);
  const other = { ...CLIENT, clientSecret: new Secret("other") };
  const hurried = await world.make({ credential: other });
  const late = world.send({ ...hurried, job: { ...hurried.job, timeoutMs: 5_000 } });
  await world.clock.advance(5_000);
  assert.deepEqual(await late, { kind: "failed", error: "timeout", durationMs: 5_000 });
  const third = await world.make({ credential: { ...other, clientId: "third" } });
  const stopped = world.send(third);
  await settle();
  world.stop.abort();
  const outcome = await stopped;
  assert.equal(outcome.kind === "failed" && outcome.error, "interrupted");
});
