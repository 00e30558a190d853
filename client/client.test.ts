import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ApiProblem, type ClientOptions, eachItem, HistoryAway, openClient } from "./client.ts";

/** A client whose requests are noted and answered with `answers`, one after the other. */
function clientOf(answers: readonly Response[], options: Partial<ClientOptions> = {}) {
  const requests: Request[] = [];
  const left = [...answers];
  const client = openClient({
    url: "https://api.example/prod/",
    apiKey: "k",
    fetch: async (input, init) => {
      requests.push(new Request(input as string, init));
      return left.shift() ?? Response.error();
    },
    ...options,
  });
  return { client, requests };
}

test("path, query, headers and body go where the operation has them", async () => {
  const { client, requests } = clientOf([Response.json({ version: 2 }, { status: 200 })]);
  const answer = await client.editTask({ taskId: "a/b", ifMatch: '"1"', body: { name: null } });
  const [request] = requests;
  assert.equal(request?.method, "PATCH");
  assert.equal(request.url, "https://api.example/prod/v1/tasks/a%2Fb");
  assert.equal(request.headers.get("if-match"), '"1"');
  assert.equal(request.headers.get("x-api-key"), "k");
  assert.deepEqual(await request.json(), { name: null });
  assert.deepEqual([answer.status, answer.body.version], [200, 2]);
});

test("an error is an ApiProblem with its document, also when a proxy answers", async () => {
  const problem = {
    type: "about:blank",
    title: "Service Unavailable",
    status: 503,
    detail: "away",
  };
  const headers = { "retry-after": "2", "content-type": "application/problem+json" };
  const { client } = clientOf([
    new Response(JSON.stringify(problem), { status: 503, headers }),
    new Response("<html>", { status: 502 }),
    new Response("{", { status: 500, headers: { "content-type": "application/json" } }),
  ]);
  const refused = async () => {
    const error = await client.getHealth().catch((reason: unknown) => reason);
    assert.ok(error instanceof ApiProblem);
    return error;
  };
  const away = await refused();
  assert.deepEqual([away.status, away.problem, away.retryAfterSeconds], [503, problem, 2]);
  const other = await refused();
  assert.deepEqual([other.status, other.problem, other.retryAfterSeconds], [502, null, null]);
  assert.equal((await refused()).problem, null);
});

test("an answer without a body is null; without a key none is sent", async () => {
  const { client, requests } = clientOf([new Response(null, { status: 204 })], { apiKey: null });
  assert.equal((await client.deleteTask({ taskId: "t" })).body, null);
  assert.equal(requests[0]?.headers.has("x-api-key"), false);
});

test("eachItem follows the cursor to the last page, empty ones too", async () => {
  const page = (items: unknown[], nextCursor: string | null) =>
    Response.json({ items, nextCursor });
  const { client, requests } = clientOf([page([1, 2], "x"), page([], "y"), page([3], null)]);
  const seen: unknown[] = [];
  for await (const item of eachItem(client.listTasks, { tag: "a&b", limit: 2 })) seen.push(item);
  assert.deepEqual(seen, [1, 2, 3]);
  assert.deepEqual(
    requests.map(({ url }) => new URL(url).search),
    ["?tag=a%26b&limit=2", "?tag=a%26b&limit=2&cursor=x", "?tag=a%26b&limit=2&cursor=y"],
  );
});

test("a list that lacks what is archived does not end as if it were whole: its items, then an error", async () => {
  const page = (items: unknown[], more: object) =>
    Response.json({ items, nextCursor: "x", ...more });
  const { client, requests } = clientOf([page([1], {}), page([2, 3], { historyAvailable: false })]);
  const seen: unknown[] = [];
  const listing = async () => {
    for await (const job of eachItem(client.listTaskJobs, { taskId: "t" })) seen.push(job);
  };
  await assert.rejects(listing(), HistoryAway);
  assert.deepEqual([seen, requests.length], [[1, 2, 3], 2]);
});

test("an answer that does not come ends at the time limit", async () => {
  const never: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
  const { client } = clientOf([], { fetch: never, timeoutMs: 1 });
  // The limit's own timer keeps no process alive.
  const alive = setTimeout(() => {}, 5_000);
  await assert.rejects(client.getHealth(), { name: "TimeoutError" });
  clearTimeout(alive);
});

test("a redirect is an error that names the base URL; the key goes nowhere else", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const paths: string[] = [];
    const server = createServer(({ url = "" }, response) => {
      paths.push(url);
      response.writeHead(status, { location: "/elsewhere" }).end();
    });
    // A failure before its close must not keep the process alive.
    server.unref();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const making = openClient({ url, apiKey: "k" }).createTask({
      body: { schedule: { type: "every", seconds: 60 }, request: { url: "https://example.com/" } },
    });
    await assert.rejects(making, (error: unknown) => {
      assert.ok(error instanceof ApiProblem);
      assert.deepEqual([error.status, error.problem], [status, null]);
      assert.ok(error.message.includes(`${url} redirects to /elsewhere`), error.message);
      return true;
    });
    assert.deepEqual(paths, ["/v1/tasks"]);
    server.close();
  }
});

test("nor is what came of a redirect an answer, where a fetch of one's own has followed it, or hides it", async () => {
  const followed = Object.defineProperty(Response.json({ items: [] }), "redirected", {
    value: true,
  });
  const hidden = Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });
  const { client } = clientOf([followed, hidden]);
  for (let i = 0; i < 2; i++)
    await assert.rejects(
      client.listTasks(),
      /^ApiProblem: (200|0): https:\/\/api.example\/prod\/ redirects: /,
    );
});
