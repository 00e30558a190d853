import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import { buildCall } from "./build-call.ts";

const tenantId = "acme" as TenantId;
const request = {
  method: "POST",
  url: "http://127.0.0.1/",
  headers: {},
  body: "{}",
  bodyBase64: null,
} as HttpRequest;
const job = { tenantId, scheduledAtMs: 0, attempt: 1, timeoutMs: 1_000, limitKey: null };

test("a job in a slot of a limit waits for no other call's connection, any other may", () => {
  const limited = { ...job, limitKey: tenantKey(tenantId) };
  assert.equal(buildCall(limited as unknown as ClaimedJob, request, {}).opensAtOnce, true);
  assert.equal(buildCall(job as unknown as ClaimedJob, request, {}).opensAtOnce, false);
});
