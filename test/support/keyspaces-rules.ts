/**
 * What Amazon Keyspaces takes of CQL's data definition, as its guide lists it ("Supported Cassandra APIs", "DDL statements", "CQL
 * elements"), and of timestamps: tests hold every migration and every write against this list, because no server here is Keyspaces.
 */
const COLUMN_TYPES = new Set([
  "ascii",
  "bigint",
  "blob",
  "boolean",
  "counter",
  "date",
  "decimal",
  "double",
  "float",
  "inet",
  "int",
  "smallint",
  "text",
  "time",
  "timestamp",
  "timeuuid",
  "tinyint",
  "uuid",
  "varchar",
  "varint",
]);
const TABLE_OPTIONS = new Set([
  "clustering order by",
  "comment",
  "custom_properties",
  "default_time_to_live",
]);
const CUSTOM_PROPERTIES = new Set([
  "capacity_mode",
  "client_side_timestamps",
  "encryption_specification",
  "point_in_time_recovery",
  "ttl",
]);

const CREATE =
  /^CREATE TABLE (IF NOT EXISTS )?[a-z0-9_.]+\s*\(([\s\S]*?)\)\s*(?:WITH\s+([\s\S]*))?$/i;
const ADD = /^ALTER TABLE [a-z0-9_.]+ ADD ([a-z0-9_]+ [a-z]+)$/i;

/** How far the timestamp of a write may be from now ("Use client-side timestamps in queries"). */
const WRITE_BEHIND_MS_MAX = 2 * 86_400_000;
const WRITE_AHEAD_MS_MAX = 5 * 60_000;

/** Why Keyspaces would refuse a write `USING TIMESTAMP` so many microseconds of the epoch; null when it takes it. */
export function timestampRefusedByKeyspaces(timestampUs: number, nowMs: number): string | null {
  const aheadMs = timestampUs / 1_000 - nowMs;
  if (aheadMs < -WRITE_BEHIND_MS_MAX) return "a timestamp more than 2 days in the past";
  return aheadMs > WRITE_AHEAD_MS_MAX ? "a timestamp more than 5 minutes in the future" : null;
}

/** Why Keyspaces would refuse the statement; null when it takes it. */
export function refusedByKeyspaces(statement: string): string | null {
  if (/^ALTER TABLE/i.test(statement)) {
    const added = ADD.exec(statement)?.[1];
    return added === undefined ? "ALTER TABLE can add a column, no more" : refusedColumn(added);
  }
  if (!/^CREATE TABLE/i.test(statement)) return "no such statement for us";
  const [head, options = ""] = splitOptions(statement);
  const match = CREATE.exec(head);
  if (match === null) return "not a CREATE TABLE that we can read";
  if (match[1] === undefined) return "CREATE TABLE without IF NOT EXISTS cannot be repeated";
  const columns = (match[2] ?? "").split(/,\s*(?=PRIMARY KEY|[a-z0-9_]+ [a-z])/i);
  for (const column of columns) {
    const refusal = /^\s*PRIMARY KEY/i.test(column) ? null : refusedColumn(column);
    if (refusal !== null) return refusal;
  }
  return refusedOptions(options);
}

function splitOptions(statement: string): [string, string?] {
  const at = statement.search(/\)\s*WITH\s/i);
  if (at < 0) return [statement];
  return [statement.slice(0, at + 1), statement.slice(at + 1).replace(/^\s*WITH\s+/i, "")];
}

function refusedColumn(column: string): string | null {
  const [, type = ""] = column.trim().split(/\s+/);
  return COLUMN_TYPES.has(type.toLowerCase()) ? null : `no column type ${type}`;
}

function refusedOptions(options: string): string | null {
  if (options === "") return null;
  for (const option of options.split(/\s+AND\s+/i)) {
    const name = (/^(clustering order by|[a-z_]+)/i.exec(option)?.[1] ?? option).toLowerCase();
    if (!TABLE_OPTIONS.has(name)) return `no table option ${name}`;
    if (name !== "custom_properties") continue;
    for (const [, property = ""] of option.matchAll(/'([a-z_]+)'\s*:\s*\{/gi)) {
      if (!CUSTOM_PROPERTIES.has(property)) return `no custom property ${property}`;
    }
  }
  return null;
}
