/** History in Amazon Keyspaces: a keyspace of the cell's own, its tables from migrations/cassandra. */
import { RemovalPolicy, Stack } from "aws-cdk-lib";
import { CfnKeyspace, CfnTable } from "aws-cdk-lib/aws-cassandra";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import type { History } from "./connections.ts";
import { readTables, type TableDefinition } from "./keyspaces-tables.ts";

export class KeyspacesHistory extends Construct implements History {
  readonly environment: History["environment"];
  readonly #keyspace: string;
  readonly #tables: readonly TableDefinition[];

  /** `keyspace`: its name, which nothing else in the account and region has. */
  constructor(scope: Construct, id: string, keyspace: string) {
    super(scope, id);
    const { region, urlSuffix } = Stack.of(this);
    this.#keyspace = keyspace;
    this.#tables = readTables();
    const made = new CfnKeyspace(this, "Keyspace", { keyspaceName: keyspace });
    made.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
    for (const definition of this.#tables) {
      const table = new CfnTable(this, definition.name, tableProps(keyspace, definition));
      table.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
      table.addResourceDependency(made);
    }
    this.environment = {
      CASSANDRA_CONTACT_POINTS: `cassandra.${region}.${urlSuffix}:9142`,
      CASSANDRA_KEYSPACE: keyspace,
      CASSANDRA_DATACENTER: region,
      CASSANDRA_AUTH: "sigv4",
    };
  }

  grantRead(grantee: IGrantable): void {
    this.#grant(grantee, ["cassandra:Select"]);
  }

  grantWrite(grantee: IGrantable): void {
    this.#grant(grantee, ["cassandra:Select", "cassandra:Modify"]);
  }

  #grant(grantee: IGrantable, actions: string[]): void {
    const arn = (path: string) =>
      Stack.of(this).formatArn({ service: "cassandra", resource: "", resourceName: path });
    const tables = this.#tables.map(({ name }) => arn(`keyspace/${this.#keyspace}/table/${name}`));
    Grant.addToPrincipal({ grantee, actions, resourceArns: tables });
    const system = arn("keyspace/system*");
    Grant.addToPrincipal({ grantee, actions: ["cassandra:Select"], resourceArns: [system] });
    acknowledge(grantee.grantPrincipal as unknown as Construct, {
      [`AwsSolutions-IAM5[Resource::${textOf(Stack.of(this).resolve(system))}]`]:
        "The driver reads which nodes and tables there are from system, system_schema and system_schema_mcs; they hold no tenant's data",
    });
  }
}

/** As cdk-nag writes a value that is known when it is deployed: `arn:aws:…:<AWS::AccountId>:…`. */
function textOf(resolved: string | { "Fn::Join": [string, (string | { Ref: string })[]] }): string {
  if (typeof resolved === "string") return resolved;
  const [, parts] = resolved["Fn::Join"];
  return parts.map((part) => (typeof part === "string" ? part : `<${part.Ref}>`)).join("");
}

function tableProps(keyspaceName: string, table: TableDefinition) {
  const column = ({ name, type }: { name: string; type: string }) => ({
    columnName: name,
    columnType: type,
  });
  return {
    keyspaceName,
    tableName: table.name,
    partitionKeyColumns: table.partition.map(column),
    clusteringKeyColumns: table.clustering.map((each) => ({
      column: column(each),
      orderBy: each.order,
    })),
    regularColumns: table.regular.map(column),
    billingMode: { mode: "ON_DEMAND" },
    defaultTimeToLive: table.ttlSeconds,
    pointInTimeRecoveryEnabled: table.pointInTimeRecovery,
    clientSideTimestampsEnabled: table.clientSideTimestamps,
    encryptionSpecification: { encryptionType: "AWS_OWNED_KMS_KEY" },
  };
}
