/** Seals the secrets that a caller gives, before the transaction that stores them: it may ask a key service. */
import { assert } from "#core/domain/assert.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { SealedSecret } from "#core/domain/task-secrets.ts";
import type { Sealer } from "#core/ports/secrets.ts";
import type { SecretSettings } from "./task-settings.ts";

/** Those that are set; what is kept is sealed already. Throws SecretsUnavailable, and what the store of data keys throws. */
export async function sealSecrets(
  sealer: Sealer | undefined,
  tenantId: TenantId,
  taskId: TaskId,
  secrets: SecretSettings = {},
): Promise<readonly SealedSecret[]> {
  const given = Object.entries(secrets);
  if (given.length === 0) return [];
  assert(sealer !== undefined, "who takes secrets can seal them");
  const sealed = given.map(async ([name, setting]): Promise<SealedSecret[]> => {
    if (setting.kind === "keep") return [];
    const place = { tenantId, owner: taskId, field: name };
    const fingerprint = await sealer.fingerprint(tenantId, setting.fingerprinted);
    return [{ name, fingerprint, sealed: await sealer.seal(place, setting.text) }];
  });
  return (await Promise.all(sealed)).flat();
}
