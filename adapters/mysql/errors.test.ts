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
function serverError(
  code: string,
  errno: number,
  sqlMessage = "secret-value",
  sqlState = "HY000",
): Error {
  const sql = "INSERT INTO tasks SET name = 'secret-value'";
  return Object.assign(new Error(sqlMessage), { code, errno, sqlState, sql, sqlMessage });
}

/** An error as mysql2 makes it of a socket. */
function socketError(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code, errno: -111, fatal: true });
}

/** Statements and data that no server ever takes, and accounts. */
const REFUSED: readonly (readonly [number, string])[] = [
  [1062, "23000"],
  [1064, "42000"],
  [1406, "22001"],
  [1049, "42000"],
  [1146, "42S02"],
  [1045, "28000"],
  [1130, "HY000"],
  [3159, "HY000"],
  [3140, "22032"],
  [1153, "08S01"],
  [1265, "01000"],
  [1364, "HY000"],
  [1366, "HY000"],
  [1846, "0A000"],
  [3819, "HY000"],
];

/** What may be gone at the next try: no room, no memory, a table changed meanwhile; 65000 is what no list has. */
const NOT_NOW: readonly (readonly [number, string])[] = [
  ...[1021, 1030, 1037, 1041, 1105, 1114, 1129, 1135, 1197, 1206, 1412, 1615, 3168, 65_000].map(
    (errno) => [errno, "HY000"] as const,
  ),
  [1038, "HY001"],
  [3101, "40000"],
];

describe("driver errors", () => {
  test("what the server cannot do now is tried again, whether this list knows it or not", () => {
    for (const [errno, state] of NOT_NOW) {
      const fault = toFault(serverError("ER", errno, "secret-value", state));
      assert.ok(translate(fault, false) instanceof StoreUnavailable, String(errno));
      // The server has taken the statement back; only a COMMIT leaves anything open.
      assert.ok(translate(fault, "alone") instanceof StoreUnavailable, String(errno));
      assert.ok(translate(fault, "commit") instanceof OutcomeUnknown, String(errno));
    }
    for (const errno of [1158, 1159, 1160, 1161, 1180, 1203, 1226, 3100]) {
      const fault = toFault(serverError("ER", errno, "secret-value", "42000"));
      assert.ok(translate(fault, false) instanceof StoreUnavailable, String(errno));
      assert.ok(translate(fault, "alone") instanceof OutcomeUnknown, String(errno));
    }
  });

  test("are the groups that callers act upon", () => {
    const of = (error: Error, write: Parameters<typeof translate>[1] = false) =>
      translate(toFault(error), write);
    for (const errno of [1290, 1792, 1836, 1213, 1205]) {
      assert.ok(of(serverError("ER", errno)) instanceof StoreUnavailable, String(errno));
      assert.ok(of(serverError("ER", errno), "commit") instanceof StoreUnavailable, String(errno));
    }
    for (const [errno, state] of REFUSED) {
      const error = serverError("ER", errno, "secret-value", state);
      for (const write of [false, "alone", "commit"] as const)
        assert.ok(of(error, write) instanceof StoreRefused, String(errno));
    }
    for (const code of ["ECONNREFUSED", "PROTOCOL_CONNECTION_LOST", "PROTOCOL_SEQUENCE_TIMEOUT"]) {
      assert.ok(of(socketError(code)) instanceof StoreUnavailable, code);
      assert.ok(of(socketError(code), "alone") instanceof OutcomeUnknown, code);
    }
    // The server answers, but the statement may have been under way when it was told to stop.
    assert.ok(of(serverError("ER_SERVER_SHUTDOWN", 1053), "alone") instanceof OutcomeUnknown);
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
          serverError(
            "ER_DUP_ENTRY",
            1062,
            `Duplicate entry 'a-for key 'x.y'' for key '${key}'`,
            "23000",
          ),
        ),
        "alone",
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
