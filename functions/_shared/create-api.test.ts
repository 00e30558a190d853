import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import type { ApiContext, ApiEvent, Operation } from "./api-event.ts";
import { createApi } from "./create-api.ts";
import { CONTRACTS } from "./openapi.ts";
import { type OperationOf, ROUTES, type Route } from "./routes.ts";

/** The API of a route's handler, none of whose operations ever ends, asked for that route. */
function askInVain({ method, path, handler }: Route, more: Record<string, string> = {}) {
  const clock = new ManualClock();
  const control = new MemoryControlStore(clock);
  const key = createHash("sha256").update("key").digest("hex");
  control.addKey(key, "acme" as TenantId, ["read", "write", "admin"]);
  const never: Operation = () => new Promise(() => {});
  const operations = Object.fromEntries(
    ROUTES.map(({ operation }) => [operation, never]),
  ) as Record<OperationOf<Route["handler"]>, Operation>;
  const logger = { info() {}, warn() {}, error() {} };
  const api = createApi(handler, operations, { control, clock, logger });
  const requestContext = { requestId: "r", identity: {} };
  const event = { httpMethod: method, resource: path, headers: { "x-api-key": "key", ...more } };
  const answer = api({ ...event, requestContext } as unknown as ApiEvent, {} as ApiContext);
  return { clock, answer };
}

test("a write that is not answered in time may have been done, a read may be asked again", async () => {
  for (const route of ROUTES) {
    const { clock, answer } = askInVain(route);
    await clock.advance(30_000);
    const { statusCode, body } = await answer;
    assert.equal(statusCode, 503, route.operation);
    const isRead = route.method === "GET";
    assert.match(
      JSON.parse(body).detail,
      isRead ? /busy: try again$/ : /may have been made or not/,
    );
  }
});

test("a POST takes an Idempotency-Key, or may be repeated without one, or refuses it and says what to do", async () => {
  const harmless = [
    "pauseTask",
    "resumeTask",
    "cancelJob",
    "previewSchedule",
    "rotateSigningSecret",
  ];
  const refusing: string[] = [];
  for (const route of ROUTES as readonly Route[]) {
    const { clock, answer } = askInVain(route, { "Idempotency-Key": "k" });
    await clock.advance(30_000);
    const { statusCode, body } = await answer;
    if (statusCode === 503) continue;
    const { errors } = JSON.parse(body);
    assert.deepEqual([statusCode, errors[0].field], [422, "Idempotency-Key"], route.operation);
    assert.match(errors[0].message, /^is not taken here: .*(\/run|`to`)/);
    refusing.push(route.operation);
  }
  const taking = Object.keys(CONTRACTS).filter((operation) =>
    CONTRACTS[operation]?.headers?.includes("idempotency-key"),
  );
  const posts = ROUTES.filter(({ method }) => method === "POST");
  assert.deepEqual(
    [...harmless, ...refusing, ...taking].sort(),
    posts.map(({ operation }) => operation).sort(),
  );
});

test("every request is answered within 10 s, /test, pause, resume and delete within 28 s", async () => {
  const longer = new Set<string>(["testTask", "pauseTask", "resumeTask", "deleteTask"]);
  for (const route of ROUTES) {
    const { clock, answer } = askInVain(route);
    let answeredAtMs = Number.NaN;
    const noted = answer.then(() => {
      answeredAtMs = clock.monotonicMs();
    });
    await clock.advance(30_000);
    await noted;
    assert.equal(answeredAtMs, longer.has(route.operation) ? 28_000 : 10_000, route.operation);
  }
});
