/**
 * Where everything runs. Executors, which call addresses that strangers chose, have subnets and a security group of their
 * own: they reach ports 80 and 443 of the internet and the database, and nothing there lends them our network's identity.
 *
 * What is left out is left out for them: an interface endpoint with private DNS anywhere in this VPC makes tenants'
 * targets of that service (API Gateway first) resolve to private addresses, and an S3 gateway endpoint on their route
 * tables sends tenants' S3 URLs as us. The VPC's resolver needs no rule: security groups do not see it.
 */
import { CfnOutput, Fn, RemovalPolicy, Stack } from "aws-cdk-lib";
import {
  CfnEIP,
  FlowLogDestination,
  FlowLogTrafficType,
  GatewayVpcEndpointAwsService,
  IpAddresses,
  NatProvider,
  Peer,
  Port,
  SecurityGroup,
  type SubnetConfiguration,
  SubnetType,
  Vpc,
} from "aws-cdk-lib/aws-ec2";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import type { NetworkConfig, StageConfig } from "../config.ts";

const MYSQL = Port.tcp(3306);
const KEYSPACES = Port.tcp(9142);
const ZONES_MAX = 3;

/** The groups of subnets, one of each in every zone. Executors get the most addresses: one a task, many tasks. */
const subnets = {
  public: {
    name: "public",
    subnetType: SubnetType.PUBLIC,
    cidrMask: 24,
    mapPublicIpOnLaunch: false,
  },
  executors: { name: "executors", subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 20 },
  services: { name: "services", subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 21 },
  data: { name: "data", subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 },
} as const satisfies Record<string, SubnetConfiguration>;

/** VPC, subnets, fixed egress addresses and the three security groups. */
export class NetworkStack extends Stack {
  readonly vpc: Vpc;
  /** Of executors: out to 80, 443 and the database; nothing in. */
  readonly executorGroup: SecurityGroup;
  /** Of APIs, ticks and the scheduler: out to AWS, Keyspaces and the database; nothing in. */
  readonly serviceGroup: SecurityGroup;
  /** Of MySQL: in from the two groups above; nothing out. */
  readonly databaseGroup: SecurityGroup;

  constructor(scope: Construct, id: string, stage: StageConfig) {
    super(scope, id, { env: { region: stage.region } });
    this.vpc = this.#makeVpc(stage.network);
    this.#logFlows(stage.network);
    this.vpc.addGatewayEndpoint("S3", {
      service: GatewayVpcEndpointAwsService.S3,
      subnets: [{ subnetGroupName: subnets.services.name }],
    });

    this.databaseGroup = this.#makeGroup("Database", "MySQL");
    this.executorGroup = this.#makeGroup("Executors", "Calls to the endpoints of tenants");
    this.serviceGroup = this.#makeGroup("Services", "APIs, ticks and scheduler");
    const internet = Peer.anyIpv4();
    this.executorGroup.addEgressRule(internet, Port.tcp(80), "endpoints of tenants");
    this.executorGroup.addEgressRule(internet, Port.tcp(443), "endpoints of tenants, AWS APIs");
    this.serviceGroup.addEgressRule(internet, Port.tcp(443), "AWS APIs");
    this.serviceGroup.addEgressRule(internet, KEYSPACES, "Keyspaces");
    for (const group of [this.executorGroup, this.serviceGroup]) {
      group.addEgressRule(this.databaseGroup, MYSQL, "MySQL");
      this.databaseGroup.addIngressRule(group, MYSQL, "MySQL");
    }
  }

  /** Zones are taken by number when it is deployed: names would need a look-up or a fixed account. */
  override get availabilityZones(): string[] {
    return Array.from({ length: ZONES_MAX }, (_, zone) => Fn.select(zone, Fn.getAzs()));
  }

  /** The egress addresses are our own, so that they outlive a NAT gateway, and tenants can be told them. */
  #makeVpc(network: NetworkConfig): Vpc {
    const addresses = Array.from({ length: network.natGateways }, (_, index) => {
      const address = new CfnEIP(this, `EgressAddress${index}`, { domain: "vpc" });
      if (network.retainAddresses) address.applyRemovalPolicy(RemovalPolicy.RETAIN);
      return address;
    });
    new CfnOutput(this, "EgressAddresses", {
      description: "Calls to tenants' endpoints come from these IPv4 addresses",
      value: Fn.join(
        ",",
        addresses.map((address) => address.attrPublicIp),
      ),
    });
    return new Vpc(this, "Vpc", {
      ipAddresses: IpAddresses.cidr(network.cidr),
      maxAzs: network.zones,
      // A zone added later takes the room that is left for it here; the others keep their addresses.
      reservedAzs: ZONES_MAX - network.zones,
      natGateways: network.natGateways,
      natGatewayProvider: NatProvider.gateway({
        eipAllocationIds: addresses.map((address) => address.attrAllocationId),
      }),
      subnetConfiguration: Object.values(subnets),
      restrictDefaultSecurityGroup: true,
    });
  }

  #logFlows(network: NetworkConfig): void {
    const logGroup = new LogGroup(this, "FlowLogs", {
      retention:
        network.flowLogRetentionDays === 7 ? RetentionDays.ONE_WEEK : RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.vpc.addFlowLog("Flows", {
      destination: FlowLogDestination.toCloudWatchLogs(logGroup),
      trafficType: network.flowLogs === "all" ? FlowLogTrafficType.ALL : FlowLogTrafficType.REJECT,
    });
  }

  #makeGroup(id: string, description: string): SecurityGroup {
    return new SecurityGroup(this, id, { vpc: this.vpc, description, allowAllOutbound: false });
  }
}
