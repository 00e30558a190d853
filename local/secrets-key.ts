import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeKeyFile, readKeyFile } from "#adapters/crypto/key-file.ts";
import { assertMasterKeyFits } from "#adapters/crypto/vault.ts";
import { isNotMigrated } from "#adapters/mysql/errors.ts";
import { openShards, type ShardsOptions } from "#adapters/mysql/shards.ts";
import type { SecretStore } from "#core/ports/secret-store.ts";
import { SetupError } from "./setup-error.ts";

// The master key of one machine. It is made once; a database that has secrets sealed with it is never given another one.

/** Where the key is unless SECRETS_KEY_FILE or SECRETS_KMS_KEY says otherwise. */
export function localKeyFile(localDir: string, env: NodeJS.ProcessEnv): string {
  if (env.SECRETS_KMS_KEY) return "";
  return env.SECRETS_KEY_FILE || join(localDir, "secrets.key");
}

/**
 * Makes the key file when there is none and nothing depends on it. The server's databases need not be migrated. Throws
 * SetupError, or ConfigurationInvalid, when the database has secrets that the key does not open.
 */
export async function prepareKeyFile(path: string, mysql: ShardsOptions): Promise<void> {
  if (path === "") return;
  const masterKey = existsSync(path) ? readKeyFile(path) : null;
  const shards = openShards(mysql);
  try {
    for (const { secrets } of shards.all()) {
      if (!(await hasSecrets(secrets))) continue;
      if (masterKey === null)
        throw new SetupError(
          `${path} is not there, but the database has secrets that only it opens: bring it back, or begin with an empty database`,
        );
      await assertMasterKeyFits(masterKey, secrets, `SECRETS_KEY_FILE ${path}`);
    }
  } finally {
    await shards.close();
  }
  makeKeyFile(path);
}

async function hasSecrets(secrets: Pick<SecretStore, "sampleDataKeys">): Promise<boolean> {
  try {
    return (await secrets.sampleDataKeys()).length > 0;
  } catch (error) {
    if (isNotMigrated(error)) return false;
    throw error;
  }
}
