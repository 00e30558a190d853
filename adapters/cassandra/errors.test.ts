import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { errors, types } from "cassandra-driver";
import { readFault, translate } from "./errors.ts";

const SECRET = "s3cret-body";
const { responseErrorCodes: codes } = types;

const translated = (error: unknown) => {
  const fault = readFault(error);
  assert(fault !== null);
  return translate(fault);
};

function response(code: number, message = `bad value ${SECRET}`): Error {
  const error = new errors.ResponseError(code, message);
  return Object.assign(error, { query: `INSERT … ${SECRET}`, coordinator: "10.0.0.1:9042" });
}

test("what may pass is unavailable, what will not is refused", () => {
  const unavailable = [
    response(codes.overloaded),
    response(codes.unavailableException),
    response(codes.writeTimeout),
    response(codes.readTimeout),
    response(codes.serverError),
    new errors.NoHostAvailableError({ "10.0.0.1": response(codes.overloaded) }),
    new errors.NoHostAvailableError({}),
    new errors.OperationTimedOutError("timed out", "10.0.0.1"),
    new errors.BusyConnectionError("10.0.0.1", 2_048, 1),
    new Error("No connection available"),
    Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
  ];
  for (const error of unavailable) assert.equal(translated(error).name, "StoreUnavailable");
  const refused = [
    response(codes.syntaxError),
    response(codes.invalid),
    response(codes.unauthorized),
    new errors.AuthenticationError("no"),
    new errors.NoHostAvailableError({ "10.0.0.1": new errors.AuthenticationError("no") }),
  ];
  for (const error of refused) assert.equal(translated(error).name, "StoreRefused");
});

test("a missing keyspace or table says what to do", () => {
  for (const message of [
    "Keyspace scheduler does not exist",
    "table jobs_by_task does not exist",
  ]) {
    assert.match(translated(response(codes.invalid, message)).message, /run the migrations/);
  }
});

test("nothing of the statement, its values or the hosts leaves with an error", () => {
  const wrapped = new errors.NoHostAvailableError({ "10.0.0.1:9042": response(codes.invalid) });
  for (const error of [response(codes.invalid), response(codes.overloaded), wrapped]) {
    const seen = inspect(translated(error), { depth: 9, showHidden: true });
    assert(!seen.includes(SECRET) && !seen.includes("INSERT") && !seen.includes("10.0.0.1"), seen);
  }
});

test("an error of our own code is not the driver's", () => {
  assert.equal(readFault(new TypeError("x is not a function")), null);
  assert.equal(readFault("text"), null);
});
