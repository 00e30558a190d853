/** What roles may do: each action by its name, each resource by its ARN, but for those that are listed here with the reason. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  makeCell,
  type NamedResource,
  type Properties,
  resourcesOfCell,
  STAGES,
} from "./cell-templates.ts";

interface Statement {
  readonly Effect: string;
  readonly Action: string | string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** Actions that AWS cannot limit to a resource. */
const WITHOUT_RESOURCE = [
  "ec2:AssignPrivateIpAddresses",
  "ec2:CreateNetworkInterface",
  "ec2:DeleteNetworkInterface",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeSubnets",
  "ec2:UnassignPrivateIpAddresses",
  "ecr:GetAuthorizationToken",
  "xray:PutTelemetryRecords",
  "xray:PutTraceSegments",
];

for (const stage of STAGES) {
  const cell = makeCell(stage);
  const policies = resourcesOfCell(cell).filter(([, { Type }]) =>
    ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"].includes(Type),
  );
  const roles = resourcesOfCell(cell, "AWS::IAM::Role");
  const statements = [
    ...policies.flatMap(([id, { Properties }]) => statementsOf(id, Properties.PolicyDocument)),
    ...roles.flatMap(([id, { Properties }]) =>
      ((Properties.Policies ?? []) as Properties[]).flatMap((policy) =>
        statementsOf(id, policy.PolicyDocument),
      ),
    ),
  ];

  /** `action on resource` of the policies of a role, by the beginning of its logical id. */
  const rightsOf = (role: string) =>
    policies
      .filter(([, { Properties }]) => JSON.stringify(Properties.Roles).includes(`"Ref":"${role}`))
      .flatMap(([id, { Properties }]) => statementsOf(id, Properties.PolicyDocument));
  const has = (role: string, action: string) =>
    rightsOf(role).filter(({ statement }) => actionsOf(statement).includes(action));

  describe(`rights in ${stage}`, () => {
    it("are there to be looked at", () => assert.ok(statements.length > 20));

    it("have no wildcard in an action", () => {
      for (const { id, statement } of statements)
        for (const action of actionsOf(statement)) assert.doesNotMatch(action, /\*/, id);
    });

    it("have no resource `*` but where AWS knows no other", () => {
      for (const { id, statement } of statements) {
        if (![statement.Resource].flat().includes("*")) continue;
        for (const action of actionsOf(statement))
          assert.ok(WITHOUT_RESOURCE.includes(action), `${id}: ${action} on *`);
      }
    });

    it("come from one policy of AWS's own at most: what API Gateway asks for to write logs", () => {
      const managed = roles.flatMap(([id, { Properties }]) =>
        ((Properties.ManagedPolicyArns ?? []) as unknown[]).map(
          (arn) => `${id} ${JSON.stringify(arn)}`,
        ),
      );
      const own = managed.filter((line) => !line.startsWith("CustomVpcRestrictDefaultSG"));
      assert.equal(own.length, 1);
      assert.match(own[0] ?? "", /^GatewayLogs.*AmazonAPIGatewayPushToCloudWatchLogs/);
    });

    it("let the tasks API seal secrets, and open none", () => {
      const [decrypt, ...more] = has("TasksApiRole", "kms:Decrypt");
      assert.ok(decrypt && more.length === 0);
      assert.deepEqual(decrypt.statement.Condition, {
        StringEquals: { "kms:EncryptionContext:purpose": "fingerprint" },
      });
      assert.equal(has("TasksApiRole", "kms:GenerateDataKey").length, 1);
      for (const role of [
        "JobsApiRole",
        "KeyAuthorizerRole",
        "ReconcilerRole",
        "ArchiverRole",
        "SchedulerTask",
      ])
        for (const { statement } of rightsOf(role))
          assert.ok(!actionsOf(statement).some((action) => action.startsWith("kms:")), role);
    });

    it("let executors open them", () => {
      const open = has("ExecutorTaskTaskRole", "kms:Decrypt");
      assert.equal(open.length, 1);
      assert.equal(open[0]?.statement.Condition, undefined);
    });

    it("give everybody the app's account only, and migrations the owner's too", () => {
      const app = [
        "TasksApiRole",
        "JobsApiRole",
        "KeyAuthorizerRole",
        "ReconcilerRole",
        "ArchiverRole",
      ];
      for (const role of [...app, "SchedulerTaskTaskRole", "ExecutorTaskTaskRole"]) {
        const secrets = has(role, "secretsmanager:GetSecretValue");
        assert.equal(secrets.length, 1, role);
        assert.match(JSON.stringify(secrets[0]?.statement.Resource), /AppAccount/, role);
      }
      const [both] = has("MigrateRole", "secretsmanager:GetSecretValue");
      assert.equal([both?.statement.Resource].flat().length, 2);
    });

    it("let only the archiver write history, and nobody else but the jobs API read it", () => {
      const who = (action: string) =>
        policies
          .filter(([id, { Properties }]) =>
            statementsOf(id, Properties.PolicyDocument).some(({ statement }) =>
              actionsOf(statement).includes(action),
            ),
          )
          .map(([id]) => id.replace(/RoleDefaultPolicy.*$/, ""))
          .sort();
      assert.deepEqual(who("cassandra:Modify"), ["Archiver"]);
      assert.deepEqual(who("cassandra:Select"), ["Archiver", "JobsApi"]);
    });
  });
}

function statementsOf(id: NamedResource[0], document: unknown) {
  const { Statement } = document as { Statement: Statement[] };
  return Statement.filter(({ Effect }) => Effect === "Allow").map((statement) => ({
    id,
    statement,
  }));
}

function actionsOf({ Action }: Statement): string[] {
  return [Action].flat();
}
