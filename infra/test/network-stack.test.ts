/** What the network promises: who can reach whom, and what must never be there. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Stage } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { type CellConfig, readStage } from "../config.ts";
import { NetworkStack } from "../stacks/network-stack.ts";
import { makeApp } from "./cell-templates.ts";

type Properties = Record<string, unknown>;
type Resource = { readonly Properties: Properties; readonly DeletionPolicy?: string };

function networkOf(
  stage: "dev" | "prod",
  change: (cell: CellConfig) => CellConfig = (cell) => cell,
) {
  const app = makeApp(stage);
  const [cell] = readStage(app.node).cells;
  assert.ok(cell);
  const inRegion = new Stage(app, "cell", { env: { region: cell.region } });
  const stack = new NetworkStack(inRegion, "network", change(cell));
  const template = Template.fromStack(stack);
  const find = (type: string): [string, Resource][] =>
    Object.entries(template.findResources(type) as Record<string, Resource>);
  return { stack, template, find };
}

type Network = ReturnType<typeof networkOf>;

function reference(value: unknown): string {
  return String((value as { Ref?: string } | undefined)?.Ref);
}

/** Logical ids of a group's subnets, and of the route tables these use. */
function subnetsOf({ find }: Network, group: string): { subnets: string[]; routeTables: string[] } {
  const subnets = find("AWS::EC2::Subnet")
    .filter(([, { Properties }]) =>
      (Properties.Tags as Properties[]).some(
        ({ Key, Value }) => Key === "aws-cdk:subnet-name" && Value === group,
      ),
    )
    .map(([id]) => id);
  const routeTables = find("AWS::EC2::SubnetRouteTableAssociation")
    .filter(([, { Properties }]) => subnets.includes(reference(Properties.SubnetId)))
    .map(([, { Properties }]) => reference(Properties.RouteTableId));
  return { subnets, routeTables };
}

/** The default routes out of a group's subnets: `nat`, `internet`. */
function defaultRoutes(network: Network, group: string): string[] {
  const { routeTables } = subnetsOf(network, group);
  return network
    .find("AWS::EC2::Route")
    .filter(([, { Properties }]) => routeTables.includes(reference(Properties.RouteTableId)))
    .map(([, { Properties }]) => {
      assert.equal(Properties.DestinationCidrBlock, "0.0.0.0/0");
      return Properties.NatGatewayId ? "nat" : "internet";
    });
}

/** All rules of a security group, inline or not, as `protocol ports peer`. */
function rules(
  network: Network,
  group: { securityGroupId: string },
  way: "Ingress" | "Egress",
): string[] {
  const { stack, find } = network;
  const id = (stack.resolve(group.securityGroupId) as { "Fn::GetAtt": [string] })["Fn::GetAtt"][0];
  const own = find("AWS::EC2::SecurityGroup").find(([key]) => key === id);
  assert.ok(own);
  const inline = (own[1].Properties[`SecurityGroup${way}`] ?? []) as Properties[];
  const apart = find(`AWS::EC2::SecurityGroup${way}`)
    .map(([, { Properties }]) => Properties)
    .filter(({ GroupId }) => JSON.stringify(GroupId).includes(`"${id}"`));
  return [...inline, ...apart]
    .map((rule) => {
      const peer = rule.DestinationSecurityGroupId ?? rule.SourceSecurityGroupId;
      const far = rule.CidrIp ?? rule.CidrIpv6 ?? nameOf(network, peer);
      return `${rule.IpProtocol} ${rule.FromPort}-${rule.ToPort} ${far}`;
    })
    .sort();
}

function nameOf({ stack }: Network, peer: unknown): string {
  const text = JSON.stringify(peer);
  const groups = {
    executors: stack.executorGroup,
    services: stack.serviceGroup,
    database: stack.databaseGroup,
  };
  for (const [name, group] of Object.entries(groups)) {
    if (JSON.stringify(stack.resolve(group.securityGroupId)) === text) return name;
  }
  return text;
}

for (const stage of ["dev", "prod"] as const) {
  describe(`network of ${stage}`, () => {
    const network = networkOf(stage);
    const { stack, template, find } = network;
    const zones = stage === "prod" ? 3 : 2;

    it("has four groups of subnets in each zone, none of which gives out public addresses", () => {
      for (const group of ["public", "executors", "services", "data"]) {
        assert.equal(subnetsOf(network, group).subnets.length, zones, group);
      }
      for (const [id, { Properties }] of find("AWS::EC2::Subnet")) {
        assert.notEqual(Properties.MapPublicIpOnLaunch, true, id);
      }
    });

    it("names its zones, so that they are the same whenever it is deployed", () => {
      const named = ["eu-west-1a", "eu-west-1b", "eu-west-1c"].slice(0, zones);
      for (const group of ["public", "executors", "services", "data"]) {
        const found = subnetsOf(network, group).subnets.map(
          (id) => template.findResources("AWS::EC2::Subnet")[id]?.Properties.AvailabilityZone,
        );
        assert.deepEqual(found.sort(), named, group);
      }
    });

    it("gives the database no way to the internet and none from it", () => {
      assert.deepEqual(defaultRoutes(network, "data"), []);
    });

    it("lets executors and services out through NAT only", () => {
      const through = Array.from({ length: zones }, () => "nat");
      assert.deepEqual(defaultRoutes(network, "executors"), through);
      assert.deepEqual(defaultRoutes(network, "services"), through);
    });

    it("lets executors out to 80, 443 and MySQL, and nobody in", () => {
      assert.deepEqual(rules(network, stack.executorGroup, "Egress"), [
        "tcp 3306-3306 database",
        "tcp 443-443 0.0.0.0/0",
        "tcp 80-80 0.0.0.0/0",
      ]);
      assert.deepEqual(rules(network, stack.executorGroup, "Ingress"), []);
    });

    it("lets services out to AWS, Keyspaces and MySQL, and nobody in", () => {
      assert.deepEqual(rules(network, stack.serviceGroup, "Egress"), [
        "tcp 3306-3306 database",
        "tcp 443-443 0.0.0.0/0",
        "tcp 9142-9142 0.0.0.0/0",
      ]);
      assert.deepEqual(rules(network, stack.serviceGroup, "Ingress"), []);
    });

    it("lets executors and services into the database, and the database nowhere", () => {
      assert.deepEqual(rules(network, stack.databaseGroup, "Ingress"), [
        "tcp 3306-3306 executors",
        "tcp 3306-3306 services",
      ]);
      // The CDK writes "nothing" as a rule that no packet meets, since no rule would mean all.
      assert.deepEqual(rules(network, stack.databaseGroup, "Egress"), [
        "icmp 252-86 255.255.255.255/32",
      ]);
    });

    it("has no interface endpoint, and S3's gateway endpoint away from executors", () => {
      const endpoints = find("AWS::EC2::VPCEndpoint").map(([, { Properties }]) => Properties);
      assert.deepEqual(
        endpoints.map(({ VpcEndpointType }) => VpcEndpointType),
        ["Gateway"],
      );
      const attached = endpoints
        .flatMap(({ RouteTableIds }) => RouteTableIds as unknown[])
        .map(reference)
        .sort();
      assert.deepEqual(attached, subnetsOf(network, "services").routeTables.sort());
      const executors = subnetsOf(network, "executors").routeTables;
      assert.equal(executors.length, zones);
      assert.ok(!executors.some((table) => attached.includes(table)));
    });

    it("writes flow logs that are thrown away in time", () => {
      template.resourceCountIs("AWS::EC2::FlowLog", 1);
      template.hasResourceProperties("AWS::EC2::FlowLog", {
        TrafficType: stage === "prod" ? "REJECT" : "ALL",
      });
      template.hasResourceProperties("AWS::Logs::LogGroup", {
        RetentionInDays: stage === "prod" ? 30 : 7,
      });
    });

    it("tells its egress addresses, one for each NAT gateway", () => {
      const addresses = find("AWS::EC2::EIP");
      const gateways = find("AWS::EC2::NatGateway");
      assert.equal(gateways.length, stage === "prod" ? 3 : 1);
      const allocated = gateways.map(([, { Properties }]) =>
        JSON.stringify(Properties.AllocationId),
      );
      const own = addresses.map(([id]) => JSON.stringify({ "Fn::GetAtt": [id, "AllocationId"] }));
      assert.deepEqual(allocated.sort(), own.sort());
      const { EgressAddresses } = template.findOutputs("EgressAddresses");
      for (const [id, { DeletionPolicy }] of addresses) {
        assert.ok(JSON.stringify(EgressAddresses).includes(`"${id}"`));
        assert.equal(DeletionPolicy, stage === "prod" ? "RetainExceptOnCreate" : undefined);
      }
    });

    it("opens nothing to the world", () => {
      const inline = find("AWS::EC2::SecurityGroup").flatMap(
        ([, { Properties }]) => Properties.SecurityGroupIngress ?? [],
      );
      const apart = find("AWS::EC2::SecurityGroupIngress").map(([, { Properties }]) => Properties);
      const open = [...inline, ...apart].filter((rule) => {
        const { CidrIp, CidrIpv6 } = rule as Properties;
        return CidrIp !== undefined || CidrIpv6 !== undefined;
      });
      assert.deepEqual(open, []);
      template.hasResource("Custom::VpcRestrictDefaultSG", {});
    });
  });
}

describe("executors with addresses of their own", () => {
  const network = networkOf("prod", (cell) => ({
    ...cell,
    network: { ...cell.network, executorEgress: "own-addresses" },
  }));

  it("go out without NAT, and everything else with it", () => {
    assert.deepEqual(defaultRoutes(network, "executors"), ["internet", "internet", "internet"]);
    assert.deepEqual(defaultRoutes(network, "services"), ["nat", "nat", "nat"]);
  });

  it("get no more rights, and let nobody in", () => {
    assert.deepEqual(rules(network, network.stack.executorGroup, "Egress"), [
      "tcp 3306-3306 database",
      "tcp 443-443 0.0.0.0/0",
      "tcp 80-80 0.0.0.0/0",
    ]);
    assert.deepEqual(rules(network, network.stack.executorGroup, "Ingress"), []);
  });
});

describe("RDS Proxy", () => {
  const network = networkOf("prod", (cell) => ({ ...cell, data: { ...cell.data, proxy: true } }));
  const { proxyGroup, databaseGroup, executorGroup } = network.stack;
  assert.ok(proxyGroup);

  it("stands between services and MySQL, and executors do not reach it", () => {
    assert.deepEqual(rules(network, proxyGroup, "Ingress"), ["tcp 3306-3306 services"]);
    assert.deepEqual(rules(network, proxyGroup, "Egress"), ["tcp 3306-3306 database"]);
    assert.equal(rules(network, databaseGroup, "Ingress").length, 3);
    assert.ok(!rules(network, executorGroup, "Egress").join().includes("Proxy"));
  });
});
