/**
 * Where everything runs. Executors, which call addresses that strangers chose, have subnets and a security group of their
 * own: they reach ports 80 and 443 of the internet and the database, and nothing there lends them our network's identity.
 *
 * What is left out is left out for them: an interface endpoint with private DNS anywhere in this VPC makes tenants'
 * targets of that service (API Gateway first) resolve to private addresses, and an S3 gateway endpoint on their route
 * tables sends tenants' S3 URLs as us. The VPC's resolver needs no rule: security groups do not see it.
 */
import { CfnOutput, type CfnResource, Fn, RemovalPolicy, Stack } from "aws-cdk-lib";
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
import { CfnEventInvokeConfig } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { type CellConfig, type NetworkConfig, ZONES_MAX } from "../config.ts";

const MYSQL = Port.tcp(3306);
const KEYSPACES = Port.tcp(9142);
/** Export names are unique in an account and region: a second cell there, whose metrics and alarms would be the first one's too, ends here. */
const ONLY_CELL = "at-and-cron-one-cell-in-this-region";

/** The groups of subnets, one of each in every zone. Executors get the most addresses: one a task, many tasks. */
export const subnets = {
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

/** VPC, subnets, fixed egress addresses and the security groups. */
export class NetworkStack extends Stack {
  readonly vpc: Vpc;
  /** Of executors: out to 80, 443 and the database; nothing in. */
  readonly executorGroup: SecurityGroup;
  /** Of APIs, ticks and the scheduler: out to AWS, Keyspaces and the database; nothing in. */
  readonly serviceGroup: SecurityGroup;
  /** Of MySQL: in from the two groups above; nothing out. */
  readonly databaseGroup: SecurityGroup;
  /** Of RDS Proxy, between services and MySQL, where there is one. */
  readonly proxyGroup: SecurityGroup | null;
  /** The addresses that calls of executors and services come from. */
  readonly egressAddresses: readonly string[];
  /** NAT gateways without which executors reach nothing; none where each has an address of its own. */
  readonly executorGateways: readonly string[];

  constructor(
    scope: Construct,
    id: string,
    { network, data }: Pick<CellConfig, "network" | "data">,
  ) {
    super(scope, id);
    new CfnOutput(this, "OnlyCell", { value: this.stackName, exportName: ONLY_CELL });
    const addresses = this.#makeAddresses(network);
    this.egressAddresses = addresses.map((address) => address.attrPublicIp);
    const gateways = NatProvider.gateway({
      eipAllocationIds: addresses.map((address) => address.attrAllocationId),
    });
    this.vpc = this.#makeVpc(network, gateways);
    const isBehindNat = network.executorEgress === "nat";
    this.executorGateways = isBehindNat
      ? gateways.configuredGateways.map(({ gatewayId }) => gatewayId)
      : [];
    this.#boundRetries();
    this.#logFlows(network);
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
    this.#connect(this.executorGroup, this.databaseGroup);
    this.#connect(this.serviceGroup, this.databaseGroup);
    this.proxyGroup = data.proxy ? this.#makeGroup("Proxy", "RDS Proxy, for functions") : null;
    if (this.proxyGroup !== null) {
      this.#connect(this.serviceGroup, this.proxyGroup);
      this.#connect(this.proxyGroup, this.databaseGroup);
    }
  }

  /** The egress addresses are our own, so that they outlive a NAT gateway, and tenants can be told them. */
  #makeAddresses(network: NetworkConfig): CfnEIP[] {
    const addresses = Array.from({ length: network.natGateways }, (_, index) => {
      const address = new CfnEIP(this, `EgressAddress${index}`, { domain: "vpc" });
      if (network.retainAddresses)
        address.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
      return address;
    });
    new CfnOutput(this, "EgressAddresses", {
      description:
        network.executorEgress === "nat"
          ? "Calls to tenants' endpoints come from these IPv4 addresses"
          : "APIs, ticks and scheduler reach AWS from these IPv4 addresses; each executor has one of its own",
      value: Fn.join(
        ",",
        addresses.map((address) => address.attrPublicIp),
      ),
    });
    return addresses;
  }

  #makeVpc(network: NetworkConfig, natGatewayProvider: NatProvider): Vpc {
    const executors =
      network.executorEgress === "nat"
        ? subnets.executors
        : { ...subnets.executors, subnetType: SubnetType.PUBLIC, mapPublicIpOnLaunch: false };
    return new Vpc(this, "Vpc", {
      ipAddresses: IpAddresses.cidr(network.cidr),
      // By name: what CloudFormation lists has no fixed order, and leaves out zones without a default subnet.
      availabilityZones: network.zones.map((zone) => `${this.region}${zone}`),
      // A zone added later takes the room that is left for it here; the others keep their addresses.
      reservedAzs: ZONES_MAX - network.zones.length,
      natGateways: network.natGateways,
      natGatewaySubnets: { subnetGroupName: subnets.public.name },
      natGatewayProvider,
      subnetConfiguration: Object.values({ ...subnets, executors }),
      restrictDefaultSecurityGroup: true,
    });
  }

  /** Of the CDK's function that empties the default security group, when the VPC is made. */
  #boundRetries(): void {
    const provider = this.node.findChild("Custom::VpcRestrictDefaultSGCustomResourceProvider");
    new CfnEventInvokeConfig(this, "RestrictOnce", {
      functionName: (provider.node.findChild("Handler") as CfnResource).ref,
      qualifier: "$LATEST",
      maximumRetryAttempts: 0,
      maximumEventAgeInSeconds: 60,
    });
  }

  #logFlows(network: NetworkConfig): void {
    const logGroup = new LogGroup(this, "FlowLogs", {
      retention: network.flowLogRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.vpc.addFlowLog("Flows", {
      destination: FlowLogDestination.toCloudWatchLogs(logGroup),
      trafficType: network.flowLogs === "all" ? FlowLogTrafficType.ALL : FlowLogTrafficType.REJECT,
    });
  }

  #connect(from: SecurityGroup, to: SecurityGroup): void {
    from.addEgressRule(to, MYSQL, "MySQL");
    to.addIngressRule(from, MYSQL, "MySQL");
  }

  #makeGroup(id: string, description: string): SecurityGroup {
    return new SecurityGroup(this, id, { vpc: this.vpc, description, allowAllOutbound: false });
  }
}
