/** What a tenant's calls are signed with, open and in memory: for as long as the database says that it is valid. */
import { forgetOldest } from "#core/domain/bounded-cache.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { SIGNING_KNOWN_MAX, SIGNING_SECRET_BYTES } from "#core/domain/limits.ts";
import type { Secret } from "#core/domain/secret.ts";
import { newSigningSecret, SIGNING_ID_BYTES, signingPlace } from "#core/domain/signing-secret.ts";
import type { Random } from "#core/ports/random.ts";
import type { SecretStore } from "#core/ports/secret-store.ts";
import type { Opener, Sealer } from "#core/ports/secrets.ts";
import type { CallParts, SigningRow } from "./call-parts.ts";

interface SigningKeysDeps {
  readonly parts: CallParts;
  readonly store: SecretStore;
  readonly vault: Sealer & Opener;
  readonly random: Random;
}

export class SigningKeys {
  readonly #deps: SigningKeysDeps;
  /** By tenant and id. */
  readonly #open = new Map<string, Secret>();
  /** Of rows whose keys are open. */
  readonly #keys = new WeakMap<readonly SigningRow[], readonly Secret[]>();
  readonly #making = new Map<TenantId, Promise<readonly SigningRow[]>>();

  constructor(deps: SigningKeysDeps) {
    this.#deps = deps;
  }

  /** As keysOf, at once, where that needs nobody else; null where it does. */
  knownKeysOf(tenantId: TenantId): readonly Secret[] | null {
    const rows = this.#deps.parts.knownSigningOf(tenantId);
    return rows === null ? null : (this.#keys.get(rows) ?? null);
  }

  /**
   * Newest first; a tenant that has none gets its first. Empty when none of them opens. Throws SecretsUnavailable, and what the
   * store throws.
   */
  async keysOf(tenantId: TenantId): Promise<readonly Secret[]> {
    const there = await this.#deps.parts.signingOf(tenantId);
    const rows = there.length > 0 ? there : await this.#makeFirst(tenantId);
    const keys: Secret[] = [];
    for (const row of rows) {
      const key = await this.#keyOf(tenantId, row);
      if (key !== null) keys.push(key);
    }
    if (keys.length > 0) this.#keys.set(rows, keys);
    return keys;
  }

  /** Gets them while they are not needed yet. What fails is asked for again by the call, and told then. */
  async prepare(tenantId: TenantId): Promise<void> {
    if (this.knownKeysOf(tenantId) !== null) return;
    try {
      await this.keysOf(tenantId);
    } catch (error) {
      if (!(error instanceof OperatingError)) throw error;
    }
  }

  async #keyOf(tenantId: TenantId, { id, sealed }: SigningRow): Promise<Secret | null> {
    const at = `${tenantId}/${id}`;
    const known = this.#open.get(at);
    if (known !== undefined) return known;
    const key = await this.#deps.vault.open(signingPlace(tenantId, id), sealed);
    if (key === null) return null;
    this.#open.set(at, key);
    forgetOldest(this.#open, SIGNING_KNOWN_MAX);
    return key;
  }

  #makeFirst(tenantId: TenantId): Promise<readonly SigningRow[]> {
    const there = this.#making.get(tenantId);
    if (there !== undefined) return there;
    const making = this.#make(tenantId).finally(() => this.#making.delete(tenantId));
    this.#making.set(tenantId, making);
    return making;
  }

  /** Whoever else does it at the same time: the first one that is stored is everybody's. */
  async #make(tenantId: TenantId): Promise<readonly SigningRow[]> {
    const { vault, random, store, parts } = this.#deps;
    const key = random.bytes(SIGNING_SECRET_BYTES);
    const { id, secret } = newSigningSecret(key, random.bytes(SIGNING_ID_BYTES));
    const fingerprint = await vault.fingerprint(tenantId, secret);
    const sealed = await vault.seal(signingPlace(tenantId, id), secret);
    const rows = await store.keepSigningSecret(tenantId, { id, fingerprint, sealed });
    parts.noteSigning(tenantId, rows);
    return rows;
  }
}
