/** The stage for an emulator: the same stacks, with what it lacks taken out and this machine's databases in. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Stack } from "aws-cdk-lib";
import { ConfigError, readStage } from "../config.ts";
import { EmulatedCell } from "../emulated-cell.ts";
import { makeApp, makeCell, type Properties, resourcesOf } from "./cell-templates.ts";

const ENV = {
  MYSQL_URL: "mysql://root@127.0.0.1:3307",
  DATABASE_PREFIX: "scheduler_",
  CASSANDRA_CONTACT_POINTS: "127.0.0.1:9042",
  CASSANDRA_KEYSPACE: "scheduler",
  CASSANDRA_DATACENTER: "datacenter1",
  SECRETS_KEY_FILE: "/somewhere/secrets.key",
  ARCHIVE_SUCCEEDED_AFTER_SECONDS: "5",
  ARCHIVE_ENDED_AFTER_SECONDS: "6",
};

function makeEmulated(env: NodeJS.ProcessEnv): EmulatedCell {
  const app = makeApp("localstack");
  const [cell] = readStage(app.node).cells;
  assert.ok(cell);
  return new EmulatedCell(app, cell, env);
}

/** How many resources of each type a stack has. */
function countTypes(stack: Stack): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [, { Type }] of resourcesOf(stack)) counts[Type] = (counts[Type] ?? 0) + 1;
  return counts;
}

describe("the stage localstack", () => {
  const emulated = makeEmulated(ENV);
  const real = makeCell("dev");

  it("has in its stacks what dev has, but the authorizer that LocalStack lacks", () => {
    assert.deepEqual(countTypes(emulated.ticks), countTypes(real.ticks));
    const { "AWS::ApiGateway::Authorizer": authorizers, ...rest } = countTypes(real.api);
    assert.equal(authorizers, 1);
    const { "AWS::Lambda::Permission": permissions = 0, ...same } = rest;
    assert.deepEqual(countTypes(emulated.api), {
      ...same,
      "AWS::Lambda::Permission": permissions - 1,
    });
  });

  it("runs the same bundles, outside of a VPC, on this machine's databases", () => {
    for (const stack of [emulated.api, emulated.ticks])
      for (const [, { Properties }] of resourcesOf(stack, "AWS::Lambda::Function")) {
        assert.equal(Properties.VpcConfig, undefined);
        const { Variables } = Properties.Environment as { Variables: Properties };
        assert.equal(Variables.MYSQL_URL, ENV.MYSQL_URL);
        assert.equal(Variables.MYSQL_SECRET_ARN, "");
      }
  });

  it("leaves no method to an authorizer", () => {
    const methods = resourcesOf(emulated.api, "AWS::ApiGateway::Method");
    assert.ok(methods.length > 20);
    for (const [, { Properties }] of methods) {
      assert.equal(Properties.AuthorizerId, undefined);
      assert.match(String(Properties.AuthorizationType), /^(NONE|AWS_IAM)$/);
    }
  });

  it("says what is not set", () => {
    const { MYSQL_URL: _, SECRETS_KEY_FILE: __, ...env } = ENV;
    assert.throws(
      () => makeEmulated(env),
      (error) =>
        error instanceof ConfigError &&
        error.message ===
          "stage localstack: MYSQL_URL, SECRETS_KEY_FILE not set: 'npm run localstack' sets them",
    );
  });
});
