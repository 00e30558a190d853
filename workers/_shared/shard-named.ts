import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";

/** The shard that this process works on. Throws ConfigurationInvalid. */
export function shardNamed(shards: Shards, name: string): Shard {
  const all = shards.all();
  const shard = all.find((candidate) => candidate.name === name);
  if (shard === undefined) {
    const names = all.map((each) => each.name).join(", ");
    throw new ConfigurationInvalid(`configuration: SHARD ${name} does not exist, only ${names}`);
  }
  return shard;
}
