import assert from "node:assert/strict";
import { test } from "node:test";
import { OutcomeUnknown, StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import { SecretsUnavailable } from "#core/ports/secrets.ts";
import { answerProblems } from "./middlewares.ts";
import { HttpProblem } from "./problem.ts";

const RAW = "Duplicate entry 'acme' for key 'name'";

/** The answer to what an operation has thrown, and what was logged of it. */
async function answerTo(error: Error) {
  const logged: object[] = [];
  const logger = {
    info: () => {},
    warn: () => {},
    error: (_: string, more: object) => {
      logged.push(more);
    },
  };
  const event = { resource: "/v1/tasks", requestContext: { requestId: "r-1" } };
  const answer = await answerProblems(logger).onError?.({ event, error } as never);
  return { ...(answer as { statusCode: number; headers: object; body: string }), logged };
}

test("what fails in the world can be tried again; what may have been written is to be looked at; the rest is ours", async () => {
  for (const [error, status, again, detail] of [
    [new StoreUnavailable(RAW), 503, "2", "the database is away or busy: try again"],
    [new SecretsUnavailable(RAW), 503, "2", "the master key of secrets is away: try again"],
    [new OutcomeUnknown(RAW), 503, "2", /may have been made or not; look before trying again$/],
    [new StoreRefused(RAW), 500, undefined, "an error of ours; it has been logged"],
    [new TypeError(RAW), 500, undefined, "an error of ours; it has been logged"],
    [new HttpProblem(504, "late"), 504, undefined, "late"],
    [new HttpProblem(404, "there is none"), 404, undefined, "there is none"],
  ] as const) {
    const { statusCode, headers, body, logged } = await answerTo(error);
    assert.equal(statusCode, status);
    assert.partialDeepStrictEqual(headers, { "x-request-id": "r-1" });
    assert.equal(new Map(Object.entries(headers)).get("retry-after"), again);
    if (typeof detail === "string") assert.equal(JSON.parse(body).detail, detail);
    else assert.match(JSON.parse(body).detail, detail);
    assert.ok(!body.includes(RAW));
    const fields = { requestId: "r-1", route: "/v1/tasks", status };
    if (status < 500) assert.deepEqual(logged, []);
    else assert.partialDeepStrictEqual(logged, [fields]);
  }
});
