import type { TenantId } from "#core/domain/ids.ts";
import { SIGNING_OVERLAP_MS, SIGNING_SECRET_BYTES } from "#core/domain/limits.ts";
import type { Secret } from "#core/domain/secret.ts";
import { newSigningSecret, SIGNING_ID_BYTES, signingPlace } from "#core/domain/signing-secret.ts";
import type { Random } from "#core/ports/random.ts";
import type { StoredSigningSecret } from "#core/ports/secret-store.ts";
import type { Sealer } from "#core/ports/secrets.ts";
import type { Shards } from "#core/ports/shards.ts";

export interface SigningDeps {
  readonly shards: Pick<Shards, "forTenant">;
  readonly sealer: Sealer;
  readonly random: Random;
}

export interface RotatedSigning {
  /** The new one: nobody can read it later. */
  readonly secret: Secret;
  /** Those that calls are signed with from now on, newest first. */
  readonly valid: readonly StoredSigningSecret[];
}

/**
 * Makes a new signing secret for the tenant. Calls carry a signature of the one before it too for SIGNING_OVERLAP_MS, and of the
 * one before that until its own end; a fourth one ends at once. Executors follow within SIGNING_KNOWN_MS.
 */
export async function rotateSigningSecret(
  { shards, sealer, random }: SigningDeps,
  tenantId: TenantId,
): Promise<RotatedSigning> {
  const key = random.bytes(SIGNING_SECRET_BYTES);
  const { id, secret } = newSigningSecret(key, random.bytes(SIGNING_ID_BYTES));
  const fingerprint = await sealer.fingerprint(tenantId, secret);
  const sealed = await sealer.seal(signingPlace(tenantId, id), secret);
  const { secrets } = shards.forTenant(tenantId);
  return {
    secret,
    valid: await secrets.rotateSigningSecret(
      tenantId,
      { id, fingerprint, sealed },
      SIGNING_OVERLAP_MS,
    ),
  };
}
