/** What tenants have that are called every day: a secret to sign with, made at their first call. */
import { readKeyFile } from "#adapters/crypto/key-file.ts";
import { openVault } from "#adapters/crypto/vault.ts";
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { rotateSigningSecret } from "#core/services/signing/rotate-signing-secret.ts";
import { testKeyFile } from "#test/support/worker-process.ts";
import type { LoadTask } from "./load-model.ts";
import type { BenchDatabases } from "./stack.ts";

const AT_ONCE = 8;

/** Gives every tenant of the tasks a signing secret, sealed under the key of the workers that the benches start. */
export async function giveSigningSecrets(
  { mysqlUrl, databasePrefix }: BenchDatabases,
  tasks: readonly LoadTask[],
): Promise<void> {
  const masterKey = readKeyFile(testKeyFile());
  const shards = openShards({ mysqlUrl, databasePrefix, poolSize: AT_ONCE });
  const clock = systemClock;
  const storeOf = (tenantId: LoadTask["tenantId"]) => shards.forTenant(tenantId).secrets;
  const sealer = openVault({ masterKey, storeOf, clock, refusedMs: 0 });
  const tenants = new Set(tasks.map(({ tenantId }) => tenantId)).values();
  const makeAll = async () => {
    for (const tenantId of tenants)
      await rotateSigningSecret({ shards, sealer, random: systemRandom }, tenantId);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, makeAll));
  await shards.close();
}
