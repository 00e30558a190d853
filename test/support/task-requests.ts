/** Requests about tasks, and what is refused, for the tests of the tasks' API. */
import assert from "node:assert/strict";
import type { ApiAnswer, ApiClient } from "./api-client.ts";

export const DAILY = { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" };
/** A task with nothing but what it must have. */
export const MINIMAL = { schedule: DAILY, request: { url: "https://example.com/hook" } };

/** Creates it with these fields besides; the task as answered. */
export async function created(client: ApiClient, fields: object = {}): Promise<ApiAnswer["body"]> {
  const answer = await client("POST", "/v1/tasks", { ...MINIMAL, ...fields });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

/** `fields`: those that its errors name, in their order. */
export function assertProblem(answer: ApiAnswer, status: number, fields?: readonly string[]): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.body.type, "about:blank");
  assert.equal(answer.body.status, status);
  assert.ok(answer.body.title.length > 0 && answer.body.detail.length > 0);
  if (fields !== undefined)
    assert.deepEqual(
      answer.body.errors.map(({ field }: { field: string }) => field),
      fields,
      answer.text,
    );
}

/** Refused with this status, and words that say why. */
export function assertDetail(answer: ApiAnswer, status: number, detail: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.body.detail, detail);
}
