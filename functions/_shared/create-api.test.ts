import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import type { ApiContext, ApiEvent } from "./api-event.ts";
import { createApi } from "./create-api.ts";

test("a write that is not answered in time may have been done, a read may be asked again", async () => {
  const clock = new ManualClock();
  const control = new MemoryControlStore(clock);
  const key = createHash("sha256").update("key").digest("hex");
  control.addKey(key, "acme" as TenantId, ["read", "write"]);
  const never = () => new Promise<never>(() => {});
  const operations = {
    getJob: never,
    listTaskJobs: never,
    retryJob: never,
    cancelJob: never,
    listDeadLetters: never,
    retryDeadLetters: never,
  };
  const logger = { info() {}, warn() {}, error() {} };
  const api = createApi("jobs-api", operations, { control, clock, logger });
  for (const [httpMethod, resource, detail] of [
    ["GET", "/v1/jobs/{jobId}", /^the database is away or busy: try again$/],
    ["POST", "/v1/jobs/{jobId}/cancel", /may have been made or not/],
  ] as const) {
    const requestContext = { requestId: "r", identity: {} };
    const event = { httpMethod, resource, headers: { "x-api-key": "key" }, requestContext };
    const answer = api(event as unknown as ApiEvent, {} as ApiContext);
    for (let i = 0; i < 20; i++) await clock.advance(1_000);
    const { statusCode, body } = await answer;
    assert.equal(statusCode, 503, httpMethod);
    assert.match(JSON.parse(body).detail, detail);
  }
});
