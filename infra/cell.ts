/** A cell: everything that a group of tenants needs, in one region, deployed from top to bottom. */
import { Stage, Tags } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { CellConfig, StageName } from "./config.ts";
import type { Placement } from "./constructs/connections.ts";
import { ApiStack } from "./stacks/api-stack.ts";
import { DataStack } from "./stacks/data-stack.ts";
import { NetworkStack, subnets } from "./stacks/network-stack.ts";
import { ObservabilityStack } from "./stacks/observability-stack.ts";
import { SchemaStack } from "./stacks/schema-stack.ts";
import { TicksStack } from "./stacks/ticks-stack.ts";
import { WorkersStack } from "./stacks/workers-stack.ts";

export class Cell extends Stage {
  readonly network: NetworkStack;
  readonly data: DataStack;
  readonly schema: SchemaStack;
  readonly api: ApiStack;
  readonly ticks: TicksStack;
  readonly workers: WorkersStack;
  readonly observability: ObservabilityStack;

  constructor(scope: Construct, stage: StageName, cell: CellConfig) {
    const name = `at-and-cron-${stage}-${cell.name}`;
    super(scope, name, { env: { region: cell.region } });
    this.network = new NetworkStack(this, "network", cell);
    this.data = new DataStack(this, "data", { cell, name, network: this.network });
    const { mysql, history, secretsKey } = this.data;

    const placement: NonNullable<Placement> = {
      vpc: this.network.vpc,
      subnets: { subnetGroupName: subnets.services.name },
      securityGroups: [this.network.serviceGroup],
    };
    const database = mysql.forFunctions;
    const functions = { cell, name, placement, database, history, secretsKey };
    this.schema = new SchemaStack(this, "schema", { cell, placement, data: this.data });
    this.api = new ApiStack(this, "api", functions);
    this.ticks = new TicksStack(this, "ticks", functions);
    this.workers = new WorkersStack(this, "workers", {
      cell,
      network: this.network,
      data: this.data,
      ownHosts: this.api.hosts,
    });
    // Nothing newer than the schema starts before it.
    for (const stack of [this.api, this.ticks, this.workers]) stack.addStackDependency(this.schema);

    this.observability = new ObservabilityStack(this, "observability", {
      cell,
      name,
      apiNames: [this.api.byKey.restApiName, this.api.bySignature.restApiName],
      clusterIdentifier: name,
      deadLetters: this.ticks.deadLetters,
    });
    Tags.of(this).add("application", "at-and-cron");
    Tags.of(this).add("stage", stage);
    Tags.of(this).add("cell", cell.name);
  }
}
