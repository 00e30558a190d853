import { openVault } from "#adapters/crypto/vault.ts";
import { type MasterKeySettings, openMasterKey } from "#adapters/deployment/open-master-key.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Sealer } from "#core/ports/secrets.ts";
import type { Shards } from "#core/ports/shards.ts";

/** What an API seals secrets with: it opens none, and in AWS its role could not. Throws ConfigurationInvalid. */
export async function openSealer(
  env: MasterKeySettings,
  { shards, clock }: { readonly shards: Shards; readonly clock: Clock },
): Promise<Sealer> {
  const masterKey = await openMasterKey(env);
  const storeOf = (id: TenantId) => shards.forTenant(id).secrets;
  return openVault({ masterKey, storeOf, clock, refusedMs: 0 });
}
