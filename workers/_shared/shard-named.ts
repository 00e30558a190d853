import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";

/** The shard that this process works on. */
export function shardNamed(shards: Shards, name: string): Shard {
  const shard = shards.all().find((candidate) => candidate.name === name);
  if (shard === undefined)
    throw new ConfigurationInvalid(`configuration: SHARD ${name} is not in the shard map`);
  return shard;
}
