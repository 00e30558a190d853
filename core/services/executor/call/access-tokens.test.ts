/** Access tokens as calls get them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  TOKEN_DROPPED_EVERY_MS,
  TOKEN_FETCH_MS_MAX,
  TOKEN_KEPT_MS_DEFAULT,
} from "#core/domain/limits.ts";
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

test("a 401 of the target drops its token, at most once a minute", async () => {
  nth = 0;
  let refused = new Set(["t0"]);
  const world = openSendingWorld(
    tokenEndpoint(["t0", "t1", "t2", "t3"], (token) => (refused.has(token) ? 401 : 200)),
  );
  const made = await world.make({ credential: CLIENT });
  const sent: string[] = [];
  const call = async () => {
    const outcome = await world.send(made);
    const token = authorizations(world.calls).at(-1)?.slice("Bearer ".length);
    sent.push(`${token} ${outcome.kind === "answered" && outcome.statusCode}`);
  };
  await call();
  await call();
  refused = new Set(["t1", "t2"]);
  await call();
  await world.clock.advance(TOKEN_DROPPED_EVERY_MS - 1);
  await call();
  await world.clock.advance(1);
  for (let n = 0; n < 3; n++) await call();
  await world.clock.advance(TOKEN_DROPPED_EVERY_MS);
  for (let n = 0; n < 2; n++) await call();
  assert.deepEqual(sent, [
    ...["t0 401", "t1 200", "t1 401", "t1 401", "t1 401"],
    ...["t2 401", "t2 401", "t2 401", "t3 200"],
  ]);
});

test("where the provider gives good tokens again, calls have one a minute later, however long the bad one is good for", async () => {
  for (const [everyMs, goodAfterMs] of [
    [5_000, 10_000],
    [60_000, 120_000],
    [1_000, 61_500],
    [90_000, 600_000],
  ] as const) {
    let isGood = false;
    let fetches = 0;
    const world = openSendingWorld(async (call) => {
      if (call.url !== TOKEN_URL)
        return { statusCode: call.headers.authorization === "Bearer good" ? 200 : 401 };
      fetches++;
      const token = { access_token: isGood ? "good" : "bad", expires_in: 86_400 };
      return { responseBody: JSON.stringify(token) };
    });
    const made = await world.make({ credential: CLIENT });
    const startMs = world.clock.monotonicMs();
    for (let status = 401; status !== 200; ) {
      const sent = await world.send(made);
      status = sent.kind === "answered" ? sent.statusCode : 0;
      assert.ok(status === 200 || status === 401);
      const sinceMs = world.clock.monotonicMs() - startMs;
      isGood = sinceMs >= goodAfterMs;
      assert.ok(
        sinceMs <= goodAfterMs + TOKEN_DROPPED_EVERY_MS + 2 * everyMs,
        `after ${sinceMs} ms`,
      );
      assert.ok(fetches <= 2 + sinceMs / TOKEN_DROPPED_EVERY_MS, `${fetches} fetches`);
      await world.clock.advance(everyMs);
    }
  }
});

test("an endpoint that takes no token costs others of the same credential a fetch a minute, not one a call", async () => {
  nth = 0;
  let answered = 0;
  const world = openSendingWorld(
    tokenEndpoint(["t0", "t1", "t2"], () => (answered++ % 2 ? 401 : 200)),
  );
  const made = await world.make({ credential: CLIENT });
  for (let n = 0; n < 100; n++) {
    await world.send(made);
    await world.clock.advance(1_000);
  }
  assert.equal(world.calls.filter(({ url }) => url === TOKEN_URL).length, 3);
});

test("a token that does not say for how long it is good is kept for its five minutes", async () => {
  const unsaid: unknown[] = [null, "", " ", false, [], {}, { valueOf: 1, toString: 1 }, "soon", -1];
  for (const [expiresIn, keptMs] of [
    ...unsaid.map((one) => [one, TOKEN_KEPT_MS_DEFAULT] as const),
    ...[3_600, "3600", "3.6e3"].map((one) => [one, 3_570_000] as const),
  ]) {
    let fetches = 0;
    const world = openSendingWorld(async (call) => {
      if (call.url !== TOKEN_URL) return {};
      fetches++;
      return { responseBody: JSON.stringify({ access_token: "t", expires_in: expiresIn }) };
    });
    const made = await world.make({ credential: CLIENT });
    const what = `expires_in ${JSON.stringify(expiresIn)}`;
    assert.equal((await world.send(made)).kind, "answered", what);
    await world.clock.advance(keptMs - 1);
    await world.send(made);
    assert.equal(fetches, 1, what);
    await world.clock.advance(1);
    await world.send(made);
    assert.equal(fetches, 2, what);
  }
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
    async () => ({ responseBody: '{"access_token":"a","token_type":null}' }),
    async () => ({ responseBody: '{"access_token":"a","token_type":{"toString":1}}' }),
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

test("a job that no longer waits for a token ends no fetch that another waits for; the fetch has a time of its own", async () => {
  const world = openSendingWorld(async (call, signal) => {
    if (call.url === TOKEN_URL) await world.clock.sleep(5_000, signal);
    return call.url === TOKEN_URL ? { responseBody: '{"access_token":"t"}' } : {};
  });
  const [limited, other] = [
    await world.make({ credential: CLIENT }),
    await world.make({ credential: CLIENT }),
  ];
  const lapse = new AbortController();
  const first = world.sender.send(limited.job, limited.version, lapse.signal, () => true);
  await settle();
  const second = world.send(other);
  await world.clock.advance(1_000);
  lapse.abort();
  assert.partialDeepStrictEqual(await first, { kind: "failed", error: "interrupted" });
  await world.clock.advance(4_000);
  assert.equal((await second).kind, "answered");
  const fetches = world.calls.filter(({ url }) => url === TOKEN_URL);
  assert.deepEqual(
    fetches.map(({ timeoutMs }) => timeoutMs),
    [TOKEN_FETCH_MS_MAX],
  );
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
