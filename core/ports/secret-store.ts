/** What belongs to the secrets of a shard's tenants: their data keys, and what their calls are signed with. */
import type { TenantId } from "#core/domain/ids.ts";
import type { KeyContext } from "./secrets.ts";

/** A data key as it is stored. `id` is 32 hex digits. */
export interface WrappedKey extends KeyContext {
  readonly id: string;
  readonly wrapped: Uint8Array;
}

/** A signing secret as it is stored. */
export interface SealedSigningSecret {
  /** 16 hex digits, random: what it is sealed for. */
  readonly id: string;
  readonly fingerprint: string;
  readonly sealed: Uint8Array;
}

export interface StoredSigningSecret extends SealedSigningSecret {
  readonly createdAtMs: number;
  /** Until when calls are signed with it too; null for the newest. */
  readonly expiresAtMs: number | null;
}

export interface SecretStore {
  addDataKey(key: WrappedKey): Promise<void>;
  /** Keeps the key unless the tenant has one of the purpose; returns the one that it has then. */
  keepDataKey(key: WrappedKey): Promise<WrappedKey>;
  /** The first key of the purpose; null when the tenant has none. */
  firstDataKey(context: KeyContext): Promise<WrappedKey | null>;
  findDataKey(context: KeyContext, id: string): Promise<WrappedKey | null>;
  /**
   * One data key of the shard for each beginning (DATA_KEY_BEGINS_BYTES) that wrapped ones have: a key file's lines are told apart by
   * it. Of the first DATA_KEYS_LOOKED_AT, at most DATA_KEY_SAMPLES_MAX; empty when there is none.
   */
  sampleDataKeys(): Promise<readonly WrappedKey[]>;

  /** Valid ones, newest first: at most SIGNING_VALID_MAX. */
  listSigningSecrets(tenantId: TenantId): Promise<readonly StoredSigningSecret[]>;
  /** Keeps it unless the tenant has a valid one. Returns those that are valid then, newest first. */
  keepSigningSecret(
    tenantId: TenantId,
    secret: SealedSigningSecret,
  ): Promise<readonly StoredSigningSecret[]>;
  /**
   * Makes it the newest. The one before it stays valid for `overlapMs`, the one before that until the end that it has, any older
   * one no longer. Returns those that are valid then, newest first.
   */
  rotateSigningSecret(
    tenantId: TenantId,
    secret: SealedSigningSecret,
    overlapMs: number,
  ): Promise<readonly StoredSigningSecret[]>;
}
