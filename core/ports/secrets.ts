/**
 * Seals secrets so that they can be stored, and opens them where they are sent. Who seals needs not be able to open: APIs seal,
 * executors do both.
 */
import { OperatingError } from "#core/domain/errors.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { Secret } from "#core/domain/secret.ts";

/** What a sealed text is bound to: moved to another tenant, owner or field it does not open. */
export interface SecretPlace {
  readonly tenantId: TenantId;
  /** A task, or the tenant itself. */
  readonly owner: TaskId | "tenant";
  /** Which secret of the owner it is. */
  readonly field: string;
}

export interface Sealer {
  /** Throws SecretsUnavailable. */
  seal(place: SecretPlace, text: Secret): Promise<Uint8Array>;
  /**
   * 64 hex digits that are the same for the same text of the same tenant, and say nothing to who has not the tenant's key, which
   * is kept as secrets are. Throws SecretsUnavailable.
   */
  fingerprint(tenantId: TenantId, text: Secret): Promise<string>;
}

export interface Opener {
  /** Null when this was never sealed for this place: tampered with, moved, or its key is lost. Throws SecretsUnavailable. */
  open(place: SecretPlace, sealed: Uint8Array): Promise<Secret | null>;
}

/** What a data key is for: who may unwrap is told apart by it. */
export type KeyPurpose = "seal" | "fingerprint";

/** What a wrapped data key is bound to. */
export interface KeyContext {
  readonly tenantId: TenantId;
  readonly purpose: KeyPurpose;
}

/** A data key of 32 bytes, with itself as it is stored. */
export interface DataKey {
  readonly plain: Uint8Array;
  readonly wrapped: Uint8Array;
}

/** The key that wraps data keys: it never leaves where it is kept. */
export interface MasterKey {
  /** Throws SecretsUnavailable. */
  generate(context: KeyContext): Promise<DataKey>;
  /** Null when it was not wrapped by this key for this context. Throws SecretsUnavailable. */
  unwrap(wrapped: Uint8Array, context: KeyContext): Promise<Uint8Array | null>;
}

/** Keys cannot be had now. */
export class SecretsUnavailable extends OperatingError {
  override readonly name = "SecretsUnavailable";
  readonly code = "secrets-unavailable";
  readonly retryable = true;
}
