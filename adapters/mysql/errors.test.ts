import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { OutcomeUnknown, StoreRefused, StoreUnavailable } from "#core/domain/errors.ts";
import {
  DriverFault,
  isDuplicateOf,
  isRetryAtOnce,
  readFault,
  toFault,
  translate,
} from "./errors.ts";

/** An error as mysql2 makes it of the server's answer. */
function serverError(code: string, errno: number, sqlMessage = "secret-value"): Error {
  const sql = "INSERT INTO tasks SET name = 'secret-value'";
  return Object.assign(new Error(sqlMessage), { code, errno, sqlState: "HY000", sql, sqlMessage });
}

/** An error as mysql2 makes it of a socket. */
function socketError(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code, errno: -111, fatal: true });
}

describe("driver errors", () => {
  test("are the groups that callers act upon", () => {
    const of = (error: Error, write = false) => translate(toFault(error), write);
    for (const errno of [1290, 1792, 1836, 1213, 1205]) {
      assert.ok(of(serverError("ER", errno)) instanceof StoreUnavailable, String(errno));
      assert.ok(of(serverError("ER", errno), true) instanceof StoreUnavailable, String(errno));
    }
    for (const errno of [1062, 1064, 1406, 1049, 1146, 1045, 3140]) {
      assert.ok(of(serverError("ER", errno)) instanceof StoreRefused, String(errno));
      assert.ok(of(serverError("ER", errno), true) instanceof StoreRefused, String(errno));
    }
    for (const code of ["ECONNREFUSED", "PROTOCOL_CONNECTION_LOST", "PROTOCOL_SEQUENCE_TIMEOUT"]) {
      assert.ok(of(socketError(code)) instanceof StoreUnavailable, code);
      assert.ok(of(socketError(code), true) instanceof OutcomeUnknown, code);
    }
    // The server answers, but the statement may have been under way when it was told to stop.
    assert.ok(of(serverError("ER_SERVER_SHUTDOWN", 1053), true) instanceof OutcomeUnknown);
    assert.ok(of(serverError("ER_QUERY_INTERRUPTED", 1317)) instanceof StoreUnavailable);
  });

  test("only a deadlock and a lock wait are run again at once", () => {
    const again = [1213, 1205, 1062, 1290, 1317].filter((errno) =>
      isRetryAtOnce(toFault(serverError("ER", errno))),
    );
    assert.deepEqual(again, [1213, 1205]);
  });

  test("never carry the statement, its values or the server's words", () => {
    for (const error of [
      serverError(
        "ER_DUP_ENTRY",
        1062,
        "Duplicate entry 'secret-value' for key 'tasks.tenant_live_name'",
      ),
      serverError("ER_DATA_TOO_LONG", 1406),
      serverError("ER_LOCK_DEADLOCK", 1213),
      socketError("ECONNRESET"),
    ]) {
      const translated = translate(toFault(error), false);
      const cause = translated.cause as DriverFault;
      assert.ok(cause instanceof DriverFault);
      const shown = [
        translated.message,
        translated.stack,
        cause.message,
        cause.stack,
        JSON.stringify(cause),
      ];
      assert.ok(!shown.join().includes("secret-value"), shown.join());
      assert.match(translated.message, new RegExp(cause.code));
    }
  });

  test("a duplicate names its key", () => {
    const duplicate = (key: string) =>
      translate(
        toFault(
          serverError("ER_DUP_ENTRY", 1062, `Duplicate entry 'a-for key 'x.y'' for key '${key}'`),
        ),
        true,
      );
    assert.ok(isDuplicateOf(duplicate("tasks.tenant_live_name"), "tenant_live_name"));
    assert.ok(isDuplicateOf(duplicate("tenant_live_name"), "tenant_live_name"));
    assert.ok(!isDuplicateOf(duplicate("tasks.PRIMARY"), "tenant_live_name"));
    assert.ok(!isDuplicateOf(new StoreRefused("no cause"), "tenant_live_name"));
  });

  test("other errors are not the driver's", () => {
    assert.equal(readFault(new StoreUnavailable("ours has a code too")), null);
    assert.equal(readFault(new TypeError("ours")), null);
    assert.equal(readFault("text"), null);
    assert.equal(readFault(socketError("ECONNREFUSED"))?.code, "ECONNREFUSED");
  });
});
