import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as state, unreachable } from "./assert.ts";
import { describeError } from "./describe-error.ts";
import { StoreUnavailable } from "./errors.ts";

const SECRET = "s3cret-value";

/** What `act` throws. */
function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
}

test("our own errors keep class, code and message", () => {
  const error = new StoreUnavailable("MySQL does not answer: ECONNRESET", { cause: SECRET });
  assert.deepEqual(describeError(error), {
    error: "StoreUnavailable",
    code: "store-unavailable",
    message: "MySQL does not answer: ECONNRESET",
  });
  const bug = describeError(thrown(() => state(false, "a job leaves once")));
  assert.equal(bug.message, "a job leaves once (indicates a bug)");
  assert.match(bug.at ?? "", /^core\/domain\/assert\.ts:\d+:\d+$/);
});

const driverError = Object.assign(new Error(`You have an error near '${SECRET}'`), {
  code: "ER_PARSE_ERROR",
  errno: 1064,
  sql: `SELECT '${SECRET}'`,
});

for (const [what, error] of [
  ["a JSON parse error", thrown(() => JSON.parse(`{"password": ${SECRET}}`))],
  ["an invalid URL", thrown(() => new URL(`https://user:${SECRET}@`))],
  ["a driver's error with its statement", driverError],
  ["a thrown object", { message: SECRET, code: SECRET, stack: SECRET, toString: () => SECRET }],
  ["a thrown text", SECRET],
  ["an error whose class is a secret", Object.assign(new Error("x"), { name: SECRET })],
  ["an error whose code is a secret", Object.assign(new Error("x"), { code: SECRET })],
  ["an error with a cause", new Error("x", { cause: new Error(SECRET) })],
  ["several errors", new AggregateError([new Error(SECRET)], SECRET)],
  [
    "a message that looks like a stack",
    new Error(`x\n    at core/domain/${SECRET}.ts:1:1\n    at f (/core/${SECRET}.ts:1:1)`),
  ],
  [
    "a stack of its own",
    Object.assign(new Error("x"), { stack: `Error: y\n    at (/core/${SECRET}.ts:1:1)` }),
  ],
  ["an unexpected value", thrown(() => unreachable({ kind: "x", body: SECRET } as never))],
] as const)
  test(`nothing of ${what} but its class, code and place`, () => {
    assert.doesNotMatch(JSON.stringify(describeError(error)), new RegExp(SECRET));
  });

test("class, code and place of an error of others", () => {
  const said = describeError(driverError);
  assert.partialDeepStrictEqual(said, { error: "Error", code: "ER_PARSE_ERROR" });
  assert.match(said.at ?? "", /^core\/domain\/describe-error\.test\.ts:\d+:\d+$/);
  assert.deepEqual(describeError(null), { error: "null" });
  assert.deepEqual(describeError(undefined), { error: "undefined" });
  const { error, at } = describeError(thrown(() => unreachable(1n as never)));
  assert.equal(error, "AssertionError");
  assert.match(at ?? "", /^core\/domain\/assert\.ts:\d+:\d+$/);
  const far = Object.assign(new TypeError("x"), { stack: "TypeError: x\n    at node:net:1:2" });
  assert.deepEqual(describeError(far), { error: "TypeError" });
});
