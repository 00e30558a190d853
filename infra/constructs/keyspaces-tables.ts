/**
 * The tables of history as migrations/cassandra/*.cql define them, the lines for Keyspaces included: there CloudFormation makes the
 * tables, from the same files that make them in Cassandra. What cannot be read here stops the synthesis.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export interface Column {
  readonly name: string;
  readonly type: string;
}

export interface TableDefinition {
  readonly name: string;
  readonly partition: readonly Column[];
  readonly clustering: readonly (Column & { readonly order: "ASC" | "DESC" })[];
  readonly regular: readonly Column[];
  readonly ttlSeconds: number;
  readonly pointInTimeRecovery: boolean;
  readonly clientSideTimestamps: boolean;
}

const FOLDER = resolve(import.meta.dirname, "../../migrations/cassandra");
const CREATE =
  /^CREATE TABLE IF NOT EXISTS (\w+) \( ?(.+), PRIMARY KEY \(\(([^)]+)\), ([^)]+)\) \) WITH (.+)$/;
const ADD = /^ALTER TABLE (\w+) ADD (\w+) (\w+)$/;
const ON_DEMAND = "'capacity_mode': {'throughput_mode': 'PAY_PER_REQUEST'}";

/** As all files together leave them, oldest first. */
export function readTables(folder: string = FOLDER): readonly TableDefinition[] {
  const tables = new Map<string, TableDefinition>();
  for (const file of readdirSync(folder).sort())
    for (const statement of statementsOf(readFileSync(join(folder, file), "utf8")))
      apply(tables, statement, file);
  return [...tables.values()];
}

/** Of Keyspaces, in one line each, with single spaces. */
function statementsOf(text: string): string[] {
  return text
    .replace(/^[ \t]*--[ \t]*keyspaces:(.*)$/gm, "$1")
    .replace(/^[ \t]*--.*$/gm, "")
    .split(/;[ \t]*$/m)
    .map((statement) => statement.replace(/\s+/g, " ").trim())
    .filter((statement) => statement !== "");
}

function apply(tables: Map<string, TableDefinition>, statement: string, file: string): void {
  const [, altered = "", name = "", type = ""] = ADD.exec(statement) ?? [];
  const table = tables.get(altered);
  if (table !== undefined) {
    tables.set(altered, { ...table, regular: [...table.regular, { name, type }] });
    return;
  }
  const made = readCreate(statement);
  if (made === null) throw new Error(`infra cannot read this statement of ${file}: ${statement}`);
  if (!tables.has(made.name)) tables.set(made.name, made);
}

function readCreate(statement: string): TableDefinition | null {
  const [, name, columnList, partitionList, clusteringList, options] = CREATE.exec(statement) ?? [];
  if (!name || !columnList || !partitionList || !clusteringList || !options) return null;
  const columns = columnList.split(", ").map((text): Column => {
    const [column = "", type = ""] = text.split(" ");
    return { name: column, type };
  });
  const named = (list: string) =>
    list.split(", ").map((key) => {
      const column = columns.find((each) => each.name === key);
      if (column === undefined) throw new Error(`${name} has no column ${key}`);
      return column;
    });
  const orders = /CLUSTERING ORDER BY \(([^)]+)\)/.exec(options)?.[1] ?? "";
  const partition = named(partitionList);
  const clustering = named(clusteringList).map((column) => ({
    ...column,
    order: orders.includes(`${column.name} DESC`) ? ("DESC" as const) : ("ASC" as const),
  }));
  const keys = new Set([...partition, ...clustering].map((column) => column.name));
  const isOn = (property: string) => options.includes(`'${property}': {'status': 'enabled'}`);
  const ttlSeconds = Number(/default_time_to_live = (\d+)/.exec(options)?.[1]);
  if (!(ttlSeconds > 0) || !isOn("ttl") || !options.includes(ON_DEMAND)) return null;
  return {
    name,
    partition,
    clustering,
    regular: columns.filter((column) => !keys.has(column.name)),
    ttlSeconds,
    pointInTimeRecovery: isOn("point_in_time_recovery"),
    clientSideTimestamps: isOn("client_side_timestamps"),
  };
}
