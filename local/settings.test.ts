import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { readFlags, readSettings } from "./settings.ts";
import { SetupError } from "./setup-error.ts";

describe("readSettings", () => {
  it("has a default for everything", () => {
    assert.deepEqual(readSettings({ PATH: "/bin", MYSQL_PWD: "x" }), {
      localDir: resolve(".local"),
      apiPort: 8787,
      mysqlPort: 3307,
      cassandraPort: 9042,
      executors: 1,
      schedulers: 1,
      metricsPort: 0,
    });
  });

  const refused: [string, NodeJS.ProcessEnv, RegExp][] = [
    ["a misspelt name", { EXECUTORES: "2" }, /^unknown setting EXECUTORES: known are API_BURST/],
    ["a port that is a word", { API_PORT: "http" }, /^API_PORT has to be a whole number/],
    ["a port out of range", { MYSQL_PORT: "65536" }, /^MYSQL_PORT .* not '65536'/],
    ["a fraction", { EXECUTORS: "1.5" }, /^EXECUTORS/],
    ["no executor at all", { EXECUTORS: "0" }, /^EXECUTORS/],
    ["too many schedulers", { SCHEDULERS: "17" }, /from 1 to 16/],
    ["one port for two", { API_PORT: "3307" }, /^API_PORT and MYSQL_PORT are both 3307/],
    [
      "one port for two databases",
      { CASSANDRA_PORT: "3307" },
      /^MYSQL_PORT and CASSANDRA_PORT are/,
    ],
    ["a misspelt retention", { ARCHIVE_SUCCEDED_AFTER_SECONDS: "60" }, /^unknown setting ARCHIVE_/],
    ["a misspelt guard", { EGRESS_ALOW: "10.0.0.0/8:*" }, /^unknown setting EGRESS_ALOW/],
    ["a misspelt name of Cassandra's", { CASSANDRA_CONTACT: "h" }, /^unknown setting CASSANDRA_C/],
    ["a blank in LOCAL_DIR", { LOCAL_DIR: "/tmp/a b" }, /^LOCAL_DIR/],
    ["another kind of URL", { MYSQL_URL: "postgres://h" }, /^MYSQL_URL has to look like mysql:/],
    ["a database in MYSQL_URL", { MYSQL_URL: "mysql://u:secret@h/db" }, /without a database/],
  ];
  for (const [what, env, message] of refused) {
    it(`refuses ${what} in one line that repeats no password`, () => {
      assert.throws(
        () => readSettings(env),
        (error: Error) => {
          assert.ok(error instanceof SetupError);
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /\n|secret/);
          return true;
        },
      );
    });
  }
});

describe("readFlags", () => {
  it("takes the known flags", () => {
    assert.deepEqual(readFlags(["--detach"], ["detach", "quiet"]), new Set(["detach"]));
  });

  it("refuses others, saying which there are", () => {
    assert.throws(() => readFlags(["--detached"], ["detach"]), /--detached.*takes --detach$/);
    assert.throws(() => readFlags(["detach"], []), /this command takes no argument/);
  });
});
