/** What must outlive everything: MySQL, history, the key of secrets. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { readStage } from "../config.ts";
import type { NamedResource, Properties } from "./cell-templates.ts";
import { makeApp, makeCell, resourcesOf, resourcesOfCell, STAGES } from "./cell-templates.ts";

/**
 * Logical ids of what holds state: another id is another resource, and the old one is left behind with the data. Never change one
 * without a plan for what is in it.
 */
const STATEFUL = {
  "AWS::Cassandra::Keyspace": ["HistoryKeyspaceFFAF1CB1"],
  "AWS::Cassandra::Table": ["Historyjobsbytask094F3328"],
  "AWS::KMS::Key": ["SecretsKey0D2EC683"],
  "AWS::RDS::DBCluster": ["MysqlClusterB40D901E"],
  "AWS::RDS::DBInstance": ["MysqlClusterReader1FF2E7C0", "MysqlClusterWriter3B8E74DA"],
  "AWS::SecretsManager::Secret": ["MysqlAppAccountCABCA39C"],
};

/** Taken out again only when its own creation is rolled back: fixed names that stay behind would make every next attempt fail. */
const RETAINED = "RetainExceptOnCreate";

describe("RDS Proxy", () => {
  it("may have of the connections what executors, which go past it, leave", () => {
    const [config] = readStage(makeApp("prod").node).cells;
    assert.ok(config);
    const { data } = makeCell("prod", {
      data: { ...config.data, acuMax: 16, proxy: true },
      workers: { ...config.workers, executorsMin: 2, executorsMax: 50 },
    });
    const [group] = resourcesOf(data, "AWS::RDS::DBProxyTargetGroup");
    const pool = group?.[1].Properties.ConnectionPoolConfigurationInfo;
    assert.deepEqual(pool, { MaxConnectionsPercent: 27 }); // 2,000 connections, 28 for each of 50 executors and 2 schedulers
  });
});

for (const stage of STAGES) {
  const cell = makeCell(stage);
  const one = (type: string): Properties => {
    const [found, ...more] = resourcesOf(cell.data, type);
    assert.ok(found && more.length === 0, `one ${type}`);
    return found[1].Properties;
  };

  describe(`data of ${stage}`, () => {
    it("is retained, under ids that are pinned, in a stack that cannot be deleted by mistake", () => {
      const found: Record<string, string[]> = {};
      for (const [id, { Type, DeletionPolicy, UpdateReplacePolicy }] of resourcesOfCell(cell)) {
        if (!(Type in STATEFUL)) continue;
        found[Type] = [...(found[Type] ?? []), id].sort();
        if (Type === "AWS::RDS::DBInstance") continue; // holds nothing: the cluster's volume does
        assert.equal(DeletionPolicy, RETAINED, id);
        assert.equal(UpdateReplacePolicy, "Retain", id);
      }
      assert.deepEqual(found, STATEFUL);
      assert.equal(cell.data.terminationProtection, true);
    });

    it("has no state anywhere else that goes with its stack", () => {
      const kinds =
        /^AWS::(S3::Bucket|DynamoDB::Table|EFS::FileSystem|RDS::DBCluster|Cassandra::.*)$/;
      for (const [id, { Type, DeletionPolicy }] of resourcesOfCell(cell))
        if (kinds.test(Type)) assert.equal(DeletionPolicy, RETAINED, id);
    });

    it("is not public: in isolated subnets, behind one security group, without an address", () => {
      for (const [id, { Properties }] of resourcesOf(cell.data, "AWS::RDS::DBInstance"))
        assert.equal(Properties.PubliclyAccessible, false, id);
      const cluster = one("AWS::RDS::DBCluster");
      assert.equal((cluster.VpcSecurityGroupIds as unknown[]).length, 1);
      assert.match(JSON.stringify(cluster.VpcSecurityGroupIds), /Database/);
      const subnets = JSON.stringify(one("AWS::RDS::DBSubnetGroup").SubnetIds);
      assert.match(subnets, /data/);
      assert.doesNotMatch(subnets, /public|executors|services/);
    });

    it("has a reader in another zone, which is as large as the writer", () => {
      const instances = resourcesOf(cell.data, "AWS::RDS::DBInstance").map(
        ([, { Properties }]) => Properties,
      );
      const zones = instances.map(({ AvailabilityZone }) => AvailabilityZone);
      assert.deepEqual(zones.sort(), ["eu-west-1a", "eu-west-1b"]);
      for (const { DBInstanceClass, PromotionTier } of instances) {
        assert.equal(DBInstanceClass, "db.serverless");
        assert.ok((PromotionTier as number) <= 1);
      }
    });

    it("is Aurora MySQL 3.10.4, encrypted, backed up, protected, never paused", () => {
      const cluster = one("AWS::RDS::DBCluster");
      assert.equal(cluster.Engine, "aurora-mysql");
      assert.equal(cluster.EngineVersion, "8.0.mysql_aurora.3.10.4");
      assert.equal(cluster.StorageEncrypted, true);
      assert.equal(cluster.DeletionProtection, true);
      assert.ok((cluster.BackupRetentionPeriod as number) >= 7);
      assert.equal(cluster.StorageType, stage === "prod" ? "aurora-iopt1" : "aurora");
      const { MinCapacity, MaxCapacity } = cluster.ServerlessV2ScalingConfiguration as Record<
        string,
        number
      >;
      assert.ok(MinCapacity !== undefined && MinCapacity >= 0.5);
      assert.ok(MaxCapacity !== undefined && MaxCapacity >= 8);
    });

    it("has the settings that adapters/mysql asks for", () => {
      const { Family, Parameters } = one("AWS::RDS::DBClusterParameterGroup");
      assert.equal(Family, "aurora-mysql8.0");
      const settings = Parameters as Record<string, string>;
      assert.equal(settings.transaction_isolation, "READ-COMMITTED");
      assert.equal(settings.require_secure_transport, "ON");
      assert.equal(Number(settings.max_allowed_packet), 64 * 1024 * 1024);
      const deadlines = readFileSync(
        resolve(import.meta.dirname, "../../adapters/mysql/deadlines.ts"),
        "utf8",
      );
      const constant = (name: string) => new RegExp(`${name} = (\\d+);`).exec(deadlines)?.[1];
      assert.equal(settings.wait_timeout, constant("WAIT_TIMEOUT_SECONDS"));
      assert.equal(settings.interactive_timeout, "300");
      assert.equal(settings.innodb_lock_wait_timeout, constant("LOCK_WAIT_SECONDS"));
      const pool = readFileSync(
        resolve(import.meta.dirname, "../../adapters/mysql/pool.ts"),
        "utf8",
      );
      assert.equal(settings.sql_mode, /"sql_mode = '([A-Z_,]+)'"/.exec(pool)?.[1]);
    });

    it("logs no statements, in which tenants' URLs and bodies stand", () => {
      const { Parameters } = one("AWS::RDS::DBClusterParameterGroup");
      const settings = Parameters as Record<string, string>;
      for (const log of ["slow_query_log", "general_log"]) assert.equal(settings[log], undefined);
      assert.equal(settings.server_audit_events, "CONNECT");
      assert.deepEqual(one("AWS::RDS::DBCluster").EnableCloudwatchLogsExports, ["audit", "error"]);
    });

    it("has the tables of migrations/cassandra, no more and no less", () => {
      const made = resourcesOf(cell.data, "AWS::Cassandra::Table").map(toCql);
      const file = resolve(
        import.meta.dirname,
        "../../migrations/cassandra/0001_create_jobs_by_task.cql",
      );
      const written = readFileSync(file, "utf8")
        .replace(/^-- keyspaces: /gm, "")
        .replace(/^--.*\n/gm, "");
      assert.deepEqual(made.map(canonical), [canonical(written)]);
    });
  });
}

/** A table of CloudFormation as the statement that would make it in Keyspaces. */
function toCql([, { Properties }]: NamedResource): string {
  type Column = { ColumnName: string; ColumnType: string };
  const partition = Properties.PartitionKeyColumns as Column[];
  const clustering = Properties.ClusteringKeyColumns as { Column: Column; OrderBy: string }[];
  const regular = Properties.RegularColumns as Column[];
  const status = (on: unknown) => `{'status': '${on ? "enabled" : "disabled"}'}`;
  const names = (columns: Column[]) => columns.map(({ ColumnName }) => ColumnName).join(", ");
  const keys = clustering.map(({ Column }) => Column);
  const columns = [...partition, ...keys, ...regular];
  const order = clustering
    .map(({ Column, OrderBy }) => `${Column.ColumnName} ${OrderBy}`)
    .join(", ");
  const { Mode } = Properties.BillingMode as { Mode: string };
  const capacity = Mode === "ON_DEMAND" ? "PAY_PER_REQUEST" : Mode;
  return `CREATE TABLE IF NOT EXISTS ${Properties.TableName} (
    ${columns.map(({ ColumnName, ColumnType }) => `${ColumnName} ${ColumnType}`).join(", ")},
    PRIMARY KEY ((${names(partition)}), ${names(keys)}))
    WITH CLUSTERING ORDER BY (${order}) AND default_time_to_live = ${Properties.DefaultTimeToLive}
    AND CUSTOM_PROPERTIES = {
      'client_side_timestamps': ${status(Properties.ClientSideTimestampsEnabled)},
      'ttl': ${status(Number(Properties.DefaultTimeToLive) > 0)},
      'capacity_mode': {'throughput_mode': '${capacity}'},
      'point_in_time_recovery': ${status(Properties.PointInTimeRecoveryEnabled)}}`;
}

/** Without what means nothing: spaces, and the order of the columns, which CQL does not keep either. */
function canonical(statement: string): string {
  const flat = statement
    .replace(/;\s*$/, "")
    .replace(/\s+/g, " ")
    .replace(/ ?([(){},]) ?/g, "$1")
    .trim();
  const [head = "", rest = ""] = flat.split(",PRIMARY KEY");
  const [create = "", columns = ""] = head.split("(");
  return `${create}(${columns.split(",").sort().join(",")},PRIMARY KEY${rest}`;
}
