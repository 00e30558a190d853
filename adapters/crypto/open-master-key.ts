import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { MasterKey } from "#core/ports/secrets.ts";
import { readKeyFile } from "./key-file.ts";

/** As env.ts of an entry declares them; one of the two is set. */
export interface MasterKeySettings {
  readonly SECRETS_KEY_FILE: string;
  readonly SECRETS_KMS_KEY: string;
}

/** The master key of this deployment. `openKms` is called where it is a key of KMS. Throws ConfigurationInvalid. */
export async function openMasterKey(
  { SECRETS_KEY_FILE: path, SECRETS_KMS_KEY: kmsKey }: MasterKeySettings,
  openKms: (keyId: string) => Promise<MasterKey>,
): Promise<MasterKey> {
  if ((path === "") === (kmsKey === ""))
    throw new ConfigurationInvalid(
      "configuration: set SECRETS_KEY_FILE (one machine) or SECRETS_KMS_KEY (AWS), one of the two",
    );
  return kmsKey === "" ? readKeyFile(path) : openKms(kmsKey);
}
