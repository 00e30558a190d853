import assert from "node:assert/strict";
import { test } from "node:test";
import { readEnv } from "./read-env.ts";

const DECLARATION = {
  MYSQL_URL: { kind: "url", protocols: ["mysql:"] },
  EXECUTOR_SLOTS: { kind: "integer", min: 1, max: 100, default: 64 },
  LOG_LEVEL: { kind: "choice", choices: ["info", "warn"], default: "info" },
} as const;

test("declared variables are read, defaults fill in", () => {
  const env = readEnv(DECLARATION, {
    MYSQL_URL: "mysql://root@127.0.0.1:3306",
    EXECUTOR_SLOTS: "8",
  });
  assert.deepEqual(env, {
    MYSQL_URL: "mysql://root@127.0.0.1:3306",
    EXECUTOR_SLOTS: 8,
    LOG_LEVEL: "info",
  });
});

test("every fault is named at once, and no value is repeated", () => {
  const values = {
    MYSQL_URL: "postgres://s3cret@h",
    EXECUTOR_SLOTS: "1e9",
    LOG_LEVEL: "loud",
    EXECUTOR_SLOT: "1",
  };
  assert.throws(
    () => readEnv(DECLARATION, values, { ownPrefix: "EXECUTOR_" }),
    (error: Error) => {
      assert.match(error.message, /MYSQL_URL must be a URL that begins with mysql:/);
      assert.match(error.message, /EXECUTOR_SLOTS must be a whole number from 1 to 100/);
      assert.match(error.message, /LOG_LEVEL must be one of info, warn/);
      assert.match(error.message, /EXECUTOR_SLOT is not known/);
      assert.doesNotMatch(error.message, /s3cret|1e9|loud/);
      return true;
    },
  );
  assert.throws(() => readEnv(DECLARATION, {}), /MYSQL_URL is not set/);
  for (const [slots, isTaken] of [
    ["0", false],
    ["1", true],
    ["100", true],
    ["101", false],
    ["1e1", false],
  ] as const) {
    const read = () => readEnv(DECLARATION, { MYSQL_URL: "mysql://h", EXECUTOR_SLOTS: slots });
    if (isTaken) assert.equal(read().EXECUTOR_SLOTS, Number(slots));
    else assert.throws(read, /EXECUTOR_SLOTS must be a whole number from 1 to 100/);
  }
});
