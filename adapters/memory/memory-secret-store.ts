/** Data keys and signing secrets in memory. */
import type { TenantId } from "#core/domain/ids.ts";
import {
  DATA_KEY_BEGINS_BYTES,
  DATA_KEY_SAMPLES_MAX,
  DATA_KEYS_LOOKED_AT,
  SIGNING_VALID_MAX,
} from "#core/domain/limits.ts";
import type {
  SealedSigningSecret,
  SecretStore,
  StoredSigningSecret,
  WrappedKey,
} from "#core/ports/secret-store.ts";
import type { KeyContext } from "#core/ports/secrets.ts";
import type { MemoryTables } from "./memory-tables.ts";

export class MemorySecretStore implements SecretStore {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  addDataKey(key: WrappedKey): Promise<void> {
    return this.#tables.transact("addDataKey", () => void this.#tables.dataKeys.push(key));
  }

  keepDataKey(key: WrappedKey): Promise<WrappedKey> {
    return this.#tables.transact("keepDataKey", () => {
      const there = this.#keysOf(key)[0];
      if (there === undefined) this.#tables.dataKeys.push(key);
      return there ?? key;
    });
  }

  firstDataKey(context: KeyContext): Promise<WrappedKey | null> {
    return this.#tables.transact("firstDataKey", () => this.#keysOf(context)[0] ?? null);
  }

  findDataKey(context: KeyContext, id: string): Promise<WrappedKey | null> {
    return this.#tables.transact(
      "findDataKey",
      () => this.#keysOf(context).find((key) => key.id === id) ?? null,
    );
  }

  sampleDataKeys(): Promise<readonly WrappedKey[]> {
    return this.#tables.transact("sampleDataKeys", () => {
      const byBeginning = new Map<string, WrappedKey>();
      for (const key of this.#tables.dataKeys.slice(0, DATA_KEYS_LOOKED_AT))
        byBeginning.set(key.wrapped.slice(0, DATA_KEY_BEGINS_BYTES).join(), key);
      return [...byBeginning.values()].slice(0, DATA_KEY_SAMPLES_MAX);
    });
  }

  listSigningSecrets(tenantId: TenantId): Promise<readonly StoredSigningSecret[]> {
    return this.#tables.transact("listSigningSecrets", (nowMs) =>
      this.#tables.validSigningSecrets(tenantId, nowMs),
    );
  }

  keepSigningSecret(
    tenantId: TenantId,
    secret: SealedSigningSecret,
  ): Promise<readonly StoredSigningSecret[]> {
    return this.#tables.transact("keepSigningSecret", (nowMs) => {
      const there = this.#tables.validSigningSecrets(tenantId, nowMs);
      if (there.length > 0) return there;
      const first = { ...secret, createdAtMs: nowMs, expiresAtMs: null };
      this.#tables.signingSecrets.set(tenantId, [first]);
      return [first];
    });
  }

  rotateSigningSecret(
    tenantId: TenantId,
    secret: SealedSigningSecret,
    overlapMs: number,
  ): Promise<readonly StoredSigningSecret[]> {
    return this.#tables.transact("rotateSigningSecret", (nowMs) => {
      const [newest, ...older] = this.#tables.signingSecrets.get(tenantId) ?? [];
      const before = newest ? [{ ...newest, expiresAtMs: nowMs + overlapMs }, ...older] : [];
      const after = [{ ...secret, createdAtMs: nowMs, expiresAtMs: null }, ...before];
      this.#tables.signingSecrets.set(tenantId, after.slice(0, SIGNING_VALID_MAX));
      return this.#tables.validSigningSecrets(tenantId, nowMs);
    });
  }

  /** In the order of their ids, as the table's key has them. */
  #keysOf({ tenantId, purpose }: KeyContext): WrappedKey[] {
    return this.#tables.dataKeys
      .filter((key) => key.tenantId === tenantId && key.purpose === purpose)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
