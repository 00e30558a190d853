import { ConfigurationInvalid } from "#core/domain/errors.ts";

/** Databases are named prefix + "control" and prefix + shard: `scheduler_control`, `scheduler_0`. Tests choose prefixes of their own. */
export const DATABASE_PREFIX = "scheduler_";

/** The shards that exist. */
export const SHARD_NAMES: readonly string[] = ["0"];

/** Name of the control database. */
export function controlDatabase(prefix: string = DATABASE_PREFIX): string {
  return `${checked(prefix)}control`;
}

/** Name of a shard's database. */
export function shardDatabase(shard: string, prefix: string = DATABASE_PREFIX): string {
  return `${checked(prefix)}${shard}`;
}

/** The prefix goes into SQL as an identifier: lower-case letters, digits and `_` only. */
function checked(prefix: string): string {
  if (!/^[a-z][a-z0-9_]{0,47}$/.test(prefix)) {
    throw new ConfigurationInvalid(
      "configuration: DATABASE_PREFIX has lower-case letters, digits and _ only, 48 at most",
    );
  }
  return prefix;
}
