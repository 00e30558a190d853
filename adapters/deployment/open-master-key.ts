import { readKeyFile } from "#adapters/crypto/key-file.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { MasterKey } from "#core/ports/secrets.ts";

/** As env.ts of an entry declares them; one of the two is set. */
export interface MasterKeySettings {
  readonly SECRETS_KEY_FILE: string;
  readonly SECRETS_KMS_KEY: string;
}

/** The master key of this deployment: a file, or a key of KMS. Throws ConfigurationInvalid. */
export async function openMasterKey(
  { SECRETS_KEY_FILE: path, SECRETS_KMS_KEY: kmsKey }: MasterKeySettings,
  openKms: (keyId: string) => Promise<MasterKey> = openKmsKey,
): Promise<MasterKey> {
  if ((path === "") === (kmsKey === ""))
    throw new ConfigurationInvalid(
      "configuration: set SECRETS_KEY_FILE (one machine) or SECRETS_KMS_KEY (AWS), one of the two",
    );
  return kmsKey === "" ? readKeyFile(path) : openKms(kmsKey);
}

async function openKmsKey(keyId: string): Promise<MasterKey> {
  const { openKmsMasterKey } = await import("#adapters/aws/kms-master-key.ts");
  return openKmsMasterKey({ keyId });
}
