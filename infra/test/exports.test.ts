/**
 * CloudFormation takes no export out that another stack imports. A change that takes something away is therefore deployed as docs/deploy.md
 * says: users first, each stack alone. Here without AWS: exports and imports of the templates before and after, one stack after the other.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { Template } from "aws-cdk-lib/assertions";
import type { Cell } from "../cell.ts";
import { type CellConfig, readStage } from "../config.ts";
import { makeApp, makeCell, resourcesOf, stacksOf } from "./cell-templates.ts";

interface Deployed {
  readonly exports: ReadonlyMap<string, string>;
  readonly imports: ReadonlySet<string>;
}

const [prod] = readStage(makeApp("prod").node).cells;
assert.ok(prod);
const BEFORE_USE = ["network", "data", "schema", "api", "ticks", "workers", "observability"];
const guide = readFileSync(resolve(import.meta.dirname, "../../docs/deploy.md"), "utf8");
const TAKING_AWAY = /for stack in ([a-z ]+); do [^\n]*--exclusively/.exec(guide)?.[1]?.split(" ");

function deployedOf(change: Partial<CellConfig>): Map<string, Deployed> {
  return new Map(
    stacksOf(makeCell("prod", change)).map((stack) => {
      const { Outputs = {}, Resources } = Template.fromStack(stack).toJSON() as {
        Outputs?: Record<string, { Value: unknown; Export?: { Name: string } }>;
        Resources: unknown;
      };
      const exports = Object.values(Outputs).flatMap(({ Value, Export }) =>
        Export === undefined ? [] : [[Export.Name, JSON.stringify(Value)] as const],
      );
      const imports = [...JSON.stringify(Resources).matchAll(/"Fn::ImportValue":"([^"]+)"/g)];
      const names = new Set(imports.map(([, name = ""]) => name));
      return [stack.node.id, { exports: new Map(exports), imports: names }];
    }),
  );
}

/** What CloudFormation would refuse when the stacks are changed one after the other in this order. */
function refusals(
  before: ReadonlyMap<string, Deployed>,
  after: ReadonlyMap<string, Deployed>,
  order: readonly string[],
): string[] {
  const there = new Map(before);
  const found: string[] = [];
  for (const name of order) {
    const [old, now] = [there.get(name), after.get(name)];
    assert.ok(old && now, name);
    there.set(name, now);
    const others = [...there].filter(([other]) => other !== name);
    for (const one of now.imports)
      if (!others.some(([, { exports }]) => exports.has(one)))
        found.push(`${name} wants ${one}, which is not there yet`);
    for (const [one, value] of old.exports)
      for (const [other, { imports }] of others)
        if (imports.has(one) && now.exports.get(one) !== value)
          found.push(`${name} takes ${one} from ${other}`);
  }
  return found;
}

describe("a change that takes something away", () => {
  const proxy = { data: { ...prod.data, proxy: true } };
  const oneNat = { network: { ...prod.network, natGateways: 1 } };
  const ownAddresses = { network: { ...prod.network, executorEgress: "own-addresses" } } as const;
  const both = { network: { ...oneNat.network, executorEgress: "own-addresses" } } as const;
  for (const [what, before, after] of [
    ["fewer NAT gateways", {}, oneNat],
    ["addresses of executors' own", {}, ownAddresses],
    ["fewer NAT gateways and addresses of executors' own", {}, both],
    ["no proxy any more", proxy, {}],
  ] as const)
    it(`${what}: in the usual order it is refused, in that of docs/deploy.md it is not`, () => {
      const [old, now] = [deployedOf(before), deployedOf(after)];
      assert.notDeepEqual(refusals(old, now, BEFORE_USE), []);
      assert.deepEqual(refusals(old, now, TAKING_AWAY ?? []), []);
      const left = BEFORE_USE.filter((name) => !TAKING_AWAY?.includes(name));
      assert.deepEqual(left, ["observability"]);
      assert.deepEqual(refusals(now, old, BEFORE_USE), [], "and what adds goes in the usual order");
    });
});

describe("executors that get addresses of their own, or give them back", () => {
  const nat = makeCell("prod");
  const own = makeCell("prod", {
    network: { ...prod.network, executorEgress: "own-addresses" },
  });
  /** Through a NAT gateway whatever their addresses; straight to the internet with one of their own. */
  const reachInternet = (network: Cell, workers: Cell): boolean => {
    const routes = resourcesOf(network.network, "AWS::EC2::Route");
    const ofExecutors = routes.filter(([id]) => id.startsWith("Vpcexecutors"));
    assert.ok(ofExecutors.length > 0);
    const [service] = resourcesOf(workers.workers, "AWS::ECS::Service").filter(([id]) =>
      id.startsWith("Executor"),
    );
    assert.ok(service);
    return (
      ofExecutors.every(([, { Properties }]) => "NatGatewayId" in Properties) ||
      JSON.stringify(service[1].Properties).includes('"AssignPublicIp":"ENABLED"')
    );
  };

  for (const [what, before, after, order] of [
    ["get", nat, own, TAKING_AWAY ?? []],
    ["give back", own, nat, BEFORE_USE],
  ] as const)
    it(`${what}: in the order in which CloudFormation takes it they reach the internet at every step`, () => {
      assert.ok(reachInternet(before, before) && reachInternet(after, after));
      const isNetworkFirst = order.indexOf("network") < order.indexOf("workers");
      const [network, workers] = isNetworkFirst ? [after, before] : [before, after];
      assert.ok(reachInternet(network, workers));
    });
});
