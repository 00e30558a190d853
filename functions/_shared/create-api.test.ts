import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import type { ApiContext, ApiEvent, Operation } from "./api-event.ts";
import { createApi } from "./create-api.ts";
import { type OperationOf, ROUTES, type Route } from "./routes.ts";

/** The API of a route's handler, none of whose operations ever ends, asked for that route. */
function askInVain({ method, path, handler }: Route) {
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
  const event = { httpMethod: method, resource: path, headers: { "x-api-key": "key" } };
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
