/** A cell is one line of config.ts; each stands on its own, and is what cdk-nag (AwsSolutions) accepts, with reasons. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { type App, Validations } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { AwsSolutionsChecks } from "cdk-nag";
import type { IConstruct } from "constructs";
import { Cell } from "../cell.ts";
import { type CellConfig, readStage, type StageConfig, validateStage } from "../config.ts";
import {
  makeApp,
  makeCell,
  resourcesOf,
  resourcesOfCell,
  STAGES,
  stacksOf,
} from "./cell-templates.ts";

interface Acknowledged {
  readonly rule: string;
  readonly reason: string;
  readonly path: string;
}

const REASON_LENGTH_MIN = 40;
const stageOf = (app: App): StageConfig => readStage(app.node);

describe("a second cell, in another region", () => {
  const app = makeApp("prod");
  const stage = stageOf(app);
  const [first] = stage.cells;
  assert.ok(first);
  const second: CellConfig = { ...first, name: "us", region: "us-east-1" };
  const { cells } = validateStage({ ...stage, cells: [first, second] });
  const made = cells.map((cell) => new Cell(app, stage.name, cell));

  it("is synthesised like the first, under its own names, in its own region", () => {
    const [eu, us] = made;
    assert.ok(eu && us);
    assert.equal(resourcesOfCell(us).length, resourcesOfCell(eu).length);
    assert.deepEqual(
      stacksOf(us).map(({ stackName, region }) => `${stackName} ${region}`),
      [
        "at-and-cron-prod-us-network us-east-1",
        "at-and-cron-prod-us-data us-east-1",
        "at-and-cron-prod-us-schema us-east-1",
        "at-and-cron-prod-us-api us-east-1",
        "at-and-cron-prod-us-ticks us-east-1",
        "at-and-cron-prod-us-workers us-east-1",
        "at-and-cron-prod-us-observability us-east-1",
      ],
    );
    assert.match(JSON.stringify(resourcesOfCell(us)), /cassandra\.us-east-1\./);
  });

  it("shares nothing with the first", () => {
    const [eu, us] = made;
    assert.ok(eu && us);
    for (const stack of stacksOf(us))
      assert.ok(stack.dependencies.every((other) => stacksOf(us).includes(other)));
    assert.doesNotMatch(JSON.stringify(resourcesOfCell(us)), /prod-eu|prod_eu|eu-west-1/);
  });
});

describe("two cells in one account and region", () => {
  it("do not count as one: the second ends at its first stack, as an export of the first has its name", () => {
    const [dev, prod] = [makeCell("dev"), makeCell("prod")];
    assert.equal(dev.region, prod.region);
    const exportsOf = (cell: Cell) => {
      const { Outputs } = Template.fromStack(cell.network).toJSON() as {
        Outputs: Record<string, { Value: unknown; Export?: { Name: string } }>;
      };
      return new Map(Object.values(Outputs).map(({ Value, Export }) => [Export?.Name, Value]));
    };
    const [first, second] = [exportsOf(dev), exportsOf(prod)];
    const shared = [...first.keys()].filter((name) => name !== undefined && second.has(name));
    assert.deepEqual(shared, ["at-and-cron-one-cell-in-this-region"]);
    assert.equal(first.get(shared[0]), "at-and-cron-dev-eu-network");
    assert.equal(second.get(shared[0]), "at-and-cron-prod-eu-network");
  });
});

describe("what is deployed after what", () => {
  const cell = makeCell("prod");
  const { schema, api, ticks, workers, data } = cell;
  // References between stacks become dependencies when it is synthesised.
  resourcesOfCell(cell);
  it("migrations come after the data, and before everything that needs them", () => {
    assert.ok(schema.dependencies.includes(data));
    for (const stack of [api, ticks, workers]) assert.ok(stack.dependencies.includes(schema));
  });

  it("the app's password is rotated once migrations have made its account: the rotation is tried as soon as it is there", () => {
    const rotations = resourcesOfCell(cell, "AWS::SecretsManager::RotationSchedule");
    assert.equal(rotations.length, 1);
    const [found] = resourcesOf(schema, "AWS::SecretsManager::RotationSchedule");
    const [migrated] = resourcesOf(schema, "Custom::Migrations");
    assert.ok(found && migrated);
    assert.ok(found[1].DependsOn?.includes(migrated[0]));
    assert.equal(found[1].Properties.RotateImmediatelyOnUpdate, false);
  });

  it("the app's password is rotated on a Saturday or Sunday in every time zone: new connections are refused meanwhile", () => {
    const [found] = resourcesOf(schema, "AWS::SecretsManager::RotationSchedule");
    assert.deepEqual(found?.[1].Properties.RotationRules, {
      ScheduleExpression: "cron(0 20 ? * SAT#1 *)",
      Duration: "3h",
    });
  });
});

for (const stage of STAGES) {
  describe(`cdk-nag on ${stage}`, () => {
    const app = makeApp(stage);
    for (const cell of stageOf(app).cells) new Cell(app, stage, cell);
    app.synth();
    const acknowledged = listAcknowledged(app);

    it("finds nothing that is not acknowledged", () => {
      const { violations } = new AwsSolutionsChecks(app).validateScope(app);
      assert.deepEqual(violations, []);
    });

    it("has a reason for every acknowledgement", () => {
      assert.ok(acknowledged.length > 0);
      for (const { rule, reason, path } of acknowledged)
        assert.ok(reason.length >= REASON_LENGTH_MIN, `${path}: ${rule}: ${reason}`);
    });

    it("has no acknowledgement that nothing needs any more", () => {
      const findings = findAll(app);
      const spare = acknowledged.filter(
        ({ rule, path }) =>
          !findings.some((each) => each.rule === rule && isWithin(each.path, path)),
      );
      assert.deepEqual(spare, []);
    });
  });
}

describe("cdk-nag", () => {
  it("would stop a synthesis", () => {
    const app = makeApp("dev");
    const [cell] = stageOf(app).cells;
    assert.ok(cell);
    const { ticks } = new Cell(app, "dev", cell);
    new Queue(ticks, "Open");
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    assert.throws(() => app.synth(), /Validation failed/);
  });

  it("decides on `npm run synth`: the CDK's command line looks at findings of stacks that it is asked for only", () => {
    const path = resolve(import.meta.dirname, "../../package.json");
    const { scripts } = JSON.parse(readFileSync(path, "utf8"));
    assert.equal(scripts.synth, "cdk synth -q --strict '**'");
  });

  it("finds nothing when every option is taken", () => {
    const app = makeApp("prod");
    const [cell] = stageOf(app).cells;
    assert.ok(cell);
    new Cell(app, "prod", everyOption(cell));
    app.synth();
    assert.deepEqual(new AwsSolutionsChecks(app).validateScope(app).violations, []);
  });
});

function everyOption(cell: CellConfig): CellConfig {
  const domain = {
    name: "api.example.com",
    iamName: "signed.example.com",
    certificateArn: "arn:aws:acm:eu-west-1:123456789012:certificate/one",
  };
  return {
    ...cell,
    network: { ...cell.network, executorEgress: "own-addresses" },
    data: { ...cell.data, proxy: true, ioOptimized: true },
    api: { ...cell.api, domain, callerAccounts: ["210987654321"] },
    workers: { ...cell.workers, executorSpotPercent: 50 },
    alarmEmail: "on-call@example.com",
    tracing: true,
  };
}

function listAcknowledged(app: App): Acknowledged[] {
  const key = Validations.ACKNOWLEDGED_RULES_METADATA_KEY;
  return app.node.findAll().flatMap((node) =>
    node.node.metadata
      .filter(({ type }) => type === key)
      .flatMap(({ data }) => Object.entries(data as Record<string, string>))
      .map(([rule, reason]) => ({
        rule: rule.replace(/^annotation::/i, ""),
        reason: String(reason),
        path: node.node.path,
      }))
      .filter(({ rule }) => rule.startsWith("AwsSolutions")),
  );
}

/** As if nothing had been acknowledged. */
function findAll(scope: IConstruct) {
  const checks = new AwsSolutionsChecks(scope);
  Object.defineProperty(checks, "isAcknowledged", { value: () => false });
  return checks
    .validateScope(scope)
    .violations.flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ constructPath = "" }) => ({ rule: ruleName, path: constructPath })),
    );
}

function isWithin(path: string, scope: string): boolean {
  return path === scope || path.startsWith(`${scope}/`);
}
