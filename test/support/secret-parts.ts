/** What an executor needs for secrets, under a master key that nobody keeps. */
import { randomBytes } from "node:crypto";
import { masterKeyOf } from "#adapters/crypto/key-file.ts";
import { openVault } from "#adapters/crypto/vault.ts";
import { openSigner } from "#adapters/crypto/webhook-signer.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemDigest } from "#adapters/system/digest.ts";
import { MASTER_KEY_REFUSED_MS } from "#core/domain/limits.ts";
import type { MasterKey } from "#core/ports/secrets.ts";
import type { Shards } from "#core/ports/shards.ts";

export function secretParts(
  shards: Shards,
  masterKey: MasterKey = masterKeyOf([randomBytes(32)]),
  clock = systemClock,
) {
  const storeOf = (tenantId: Parameters<Shards["forTenant"]>[0]) =>
    shards.forTenant(tenantId).secrets;
  return {
    vault: openVault({ masterKey, storeOf, clock, refusedMs: MASTER_KEY_REFUSED_MS }),
    signer: openSigner(),
    digest: systemDigest,
  };
}
