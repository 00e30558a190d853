/**
 * What must outlive everything else: MySQL, history, the master key of secrets. Nothing here goes when the stack goes, but for what a
 * first deploy that fails has made: its names are taken, and it would stand in the way of the next attempt.
 */
import { Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { CellConfig } from "../config.ts";
import { Aurora } from "../constructs/aurora.ts";
import { KeyspacesHistory } from "../constructs/keyspaces-history.ts";
import { TenantSecretsKey } from "../constructs/tenant-secrets-key.ts";
import { proxyPercentOf } from "../mysql-connections.ts";
import { type NetworkStack, subnets } from "./network-stack.ts";

export interface DataStackProps {
  readonly cell: CellConfig;
  /** Of the cell, unique in the account and region: `at-and-cron-prod-eu`. */
  readonly name: string;
  readonly network: NetworkStack;
}

export class DataStack extends Stack {
  readonly mysql: Aurora;
  readonly history: KeyspacesHistory;
  readonly secretsKey: TenantSecretsKey;

  constructor(scope: Construct, id: string, { cell, name, network }: DataStackProps) {
    super(scope, id, { terminationProtection: true });
    const { proxyGroup } = network;
    this.mysql = new Aurora(this, "Mysql", {
      identifier: name,
      config: cell.data,
      logRetention: cell.logRetentionDays,
      vpc: network.vpc,
      subnets: { subnetGroupName: subnets.data.name },
      securityGroup: network.databaseGroup,
      proxy: proxyGroup && {
        securityGroup: proxyGroup,
        subnets: { subnetGroupName: subnets.data.name },
        connectionsPercent: proxyPercentOf(cell),
      },
    });
    this.history = new KeyspacesHistory(this, "History", name.replaceAll("-", "_"));
    this.secretsKey = new TenantSecretsKey(this, "SecretsKey");
  }
}
