import { assertMasterKeyFits, openVault, type Vault } from "#adapters/crypto/vault.ts";
import { type MasterKeySettings, openMasterKey } from "#adapters/deployment/open-master-key.ts";
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { MASTER_KEY_REFUSED_MS } from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Shard } from "#core/ports/shards.ts";

interface VaultDeps {
  readonly shard: Shard;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Opens what opens secrets. Throws ConfigurationInvalid without a master key, and for one that is not the shard's: better no
 * executor than one under which every job with a secret fails. A database that is away now is asked by the jobs themselves.
 */
export async function openVaultOf(
  env: MasterKeySettings,
  { shard, clock, logger }: VaultDeps,
): Promise<Vault> {
  const masterKey = await openMasterKey(env);
  const setting = env.SECRETS_KMS_KEY === "" ? "SECRETS_KEY_FILE" : "SECRETS_KMS_KEY";
  try {
    await assertMasterKeyFits(masterKey, shard.secrets, setting);
  } catch (error) {
    if (!(error instanceof OperatingError) || !error.retryable) throw error;
    logger.warn(
      "whether the master key is the database's is not known: one of the two is away",
      describeError(error),
    );
  }
  const storeOf = () => shard.secrets;
  return openVault({ masterKey, storeOf, clock, refusedMs: MASTER_KEY_REFUSED_MS });
}
