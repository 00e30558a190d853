/** Every function and worker gets exactly the variables that its env.ts declares, and secrets by reference only. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { archiverEnv } from "#functions/archiver/env.ts";
import { jobsApiEnv } from "#functions/jobs-api/env.ts";
import { keyAuthorizerEnv } from "#functions/key-authorizer/env.ts";
import { migrateEnv } from "#functions/migrate/env.ts";
import { reconcilerEnv } from "#functions/reconciler/env.ts";
import { tasksApiEnv } from "#functions/tasks-api/env.ts";
import { executorEnv } from "#workers/executor/env.ts";
import { schedulerEnv } from "#workers/scheduler/env.ts";
import {
  makeCell,
  type NamedResource,
  type Properties,
  resourcesOf,
  resourcesOfCell,
  STAGES,
} from "./cell-templates.ts";

type Declaration = Readonly<
  Record<string, { readonly kind: string; readonly choices?: readonly string[] }>
>;

/** By the beginning of the function's logical id. */
const FUNCTIONS: Readonly<Record<string, Declaration>> = {
  TasksApi: tasksApiEnv,
  JobsApi: jobsApiEnv,
  KeyAuthorizer: keyAuthorizerEnv,
  Migrate: migrateEnv,
  Reconciler: reconcilerEnv,
  Archiver: archiverEnv,
};
const WORKERS: Readonly<Record<string, Declaration>> = {
  executor: executorEnv,
  scheduler: schedulerEnv,
};
/** What the CDK adds by itself: they run its code, at a deploy. */
const OF_THE_CDK = /^(Deployframework|CustomVpcRestrictDefaultSG)/;

for (const stage of STAGES) {
  const cell = makeCell(stage);
  const functions = resourcesOfCell(cell, "AWS::Lambda::Function");
  const ours = functions.filter(([id]) => !OF_THE_CDK.test(id));
  const tasks = resourcesOf(cell.workers, "AWS::ECS::TaskDefinition");

  describe(`functions of ${stage}`, () => {
    it("are the entries of functions/", () => {
      const names = ours.map(([id]) => id.replace(/[0-9A-F]{8}$/, ""));
      assert.deepEqual(names.sort(), Object.keys(FUNCTIONS).sort());
    });

    for (const [name, declaration] of Object.entries(FUNCTIONS))
      it(`${name} has the environment of its env.ts`, () => {
        const { Environment } = only(ours, name).Properties;
        const variables = (Environment as { Variables: Properties }).Variables;
        assertDeclared(variables, declaration);
      });

    it("run on the platform that is promised, within the VPC, and end in time", () => {
      const seconds: Properties = {};
      for (const [id, { Properties }] of ours) {
        assert.equal(Properties.Runtime, "nodejs24.x", id);
        assert.deepEqual(Properties.Architectures, ["arm64"], id);
        assert.ok(Properties.VpcConfig, id);
        assert.ok((Properties.MemorySize as number) <= 1_024, id);
        seconds[id.replace(/[0-9A-F]{8}$/, "")] = Properties.Timeout;
      }
      assert.deepEqual(seconds, {
        TasksApi: 29,
        JobsApi: 15,
        KeyAuthorizer: 10,
        Migrate: 600,
        Reconciler: 90,
        Archiver: 120,
      });
    });

    it("are not invoked again behind our back, those of the CDK included", () => {
      const bounds = resourcesOfCell(cell, "AWS::Lambda::EventInvokeConfig");
      for (const [id] of functions) {
        const bound = bounds.find(([, { Properties }]) =>
          JSON.stringify(Properties.FunctionName).includes(`"${id}"`),
        );
        assert.ok(bound, `${id} has no bound on its retries`);
        assert.equal(bound[1].Properties.MaximumRetryAttempts, 0, id);
        assert.ok((bound[1].Properties.MaximumEventAgeInSeconds as number) <= 60, id);
      }
    });
  });

  describe(`workers of ${stage}`, () => {
    for (const [name, declaration] of Object.entries(WORKERS))
      it(`${name} has the environment of its env.ts`, () => {
        const { Environment, Secrets } = containerOf(tasks, name);
        const pairs = Environment as readonly { Name: string; Value: unknown }[];
        const variables = Object.fromEntries(pairs.map(({ Name, Value }) => [Name, Value]));
        assertDeclared(variables, declaration);
        assert.equal(Secrets, undefined);
      });

    it("are two task definitions on arm64", () => {
      assert.equal(tasks.length, 2);
      for (const [, { Properties }] of tasks)
        assert.deepEqual(Properties.RuntimePlatform, {
          CpuArchitecture: "ARM64",
          OperatingSystemFamily: "LINUX",
        });
    });

    for (const name of Object.keys(WORKERS))
      it(`${name} is Node itself, nobody, on a disk that cannot be written, with time to drain`, () => {
        const container = containerOf(tasks, name);
        assert.equal((container.Command as string[])[0], "node");
        assert.equal(container.ReadonlyRootFilesystem, true);
        assert.match(String(container.User), /^[1-9]\d*:[1-9]\d*$/);
        assert.deepEqual(container.LinuxParameters, {
          Capabilities: {},
          InitProcessEnabled: false,
        });
        const stopTimeout = container.StopTimeout as number;
        assert.ok(stopTimeout > 110 && stopTimeout <= 120, `${stopTimeout} s`);
        assert.ok(container.LogConfiguration);
      });
  });

  describe(`secrets of ${stage}`, () => {
    it("are in no template: each is a reference", () => {
      for (const [id, { Type, Properties }] of resourcesOfCell(cell)) {
        const text = JSON.stringify(Properties);
        assert.doesNotMatch(text, /\{\{resolve:|NoEcho/, id);
        if (Type === "AWS::SecretsManager::Secret")
          assert.equal(Properties.SecretString, undefined, id);
        if (Type === "AWS::RDS::DBCluster") {
          assert.equal(Properties.MasterUserPassword, undefined, id);
          assert.equal(Properties.ManageMasterUserPassword, true, id);
        }
      }
    });
  });
}

function only(resources: readonly NamedResource[], prefix: string) {
  const [found, ...more] = resources.filter(([id]) => id.startsWith(prefix));
  assert.ok(found && more.length === 0, `one ${prefix}`);
  return found[1];
}

function containerOf(tasks: readonly NamedResource[], worker: string): Properties {
  const containers = tasks.flatMap(
    ([, { Properties }]) => Properties.ContainerDefinitions as Properties[],
  );
  const [found, ...more] = containers.filter(({ Command }) =>
    JSON.stringify(Command).includes(worker),
  );
  assert.ok(found && more.length === 0, `one ${worker}`);
  return found;
}

function assertDeclared(variables: Properties, declaration: Declaration): void {
  assert.deepEqual(Object.keys(variables).sort(), Object.keys(declaration).sort());
  for (const [name, { kind, choices }] of Object.entries(declaration)) {
    const value = variables[name];
    if (kind === "choice") assert.ok(choices?.includes(String(value)), `${name}=${value}`);
    if (kind === "integer") assert.match(String(value), /^\d+$/, name);
    if (kind === "url") assert.match(JSON.stringify(value), /mysql:\/\//, name);
    if (name.endsWith("_SECRET_ARN"))
      assert.equal(typeof value, "object", `${name} is a reference`);
  }
  if ("WORKERS_ZONE_DATA" in declaration)
    assert.equal(variables.WORKERS_ZONE_DATA, process.versions.tz);
  if ("CASSANDRA_AUTH" in declaration) {
    assert.equal(variables.CASSANDRA_AUTH, "sigv4");
    assert.equal(variables.CASSANDRA_DATACENTER, "eu-west-1");
  }
}
