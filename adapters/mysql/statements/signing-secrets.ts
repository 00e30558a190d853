/** Signing secrets: changed under the tenant's lock, read without one. */
import type { TenantId } from "#core/domain/ids.ts";
import { SIGNING_VALID_MAX } from "#core/domain/limits.ts";
import type { SealedSigningSecret } from "#core/ports/secret-store.ts";
import { bytes, integer, interval, text } from "../literals.ts";

/** Of those that are valid. */
const VALID = "(expires_at IS NULL OR expires_at > UTC_TIMESTAMP(3))";

/**
 * A tenant's valid secrets, newest first.
 *
 * Index: primary key, a range backwards. Locks: none. Isolation: READ COMMITTED.
 * Result: (seq, id, fingerprint, sealed, created_at, expires_at), at most SIGNING_VALID_MAX.
 */
export function listSigningSecretsSql(tenantId: TenantId): string {
  return `SELECT seq, id, fingerprint, sealed, created_at, expires_at FROM signing_secrets WHERE tenant_id = ${text(tenantId)} AND ${VALID} ORDER BY seq DESC LIMIT ${integer(SIGNING_VALID_MAX)}`;
}

/**
 * Adds a secret after the others.
 *
 * Index: primary key. Locks: the new row (X); the tenant is locked. Isolation: READ COMMITTED. Result: 1.
 */
export function insertSigningSecretSql(
  tenantId: TenantId,
  seq: number,
  { id, fingerprint, sealed }: SealedSigningSecret,
): string {
  return `INSERT INTO signing_secrets (tenant_id, seq, id, fingerprint, sealed, created_at, expires_at) VALUES (${text(tenantId)}, ${integer(seq)}, ${bytes(Buffer.from(id, "hex"))}, ${bytes(Buffer.from(fingerprint, "hex"))}, ${bytes(sealed)}, UTC_TIMESTAMP(3), NULL)`;
}

/**
 * Lets the secret before a new one end.
 *
 * Index: primary key. Locks: the row (X); the tenant is locked. Isolation: READ COMMITTED. Result: 1, or 0 when there is none.
 */
export function expireSigningSecretSql(tenantId: TenantId, seq: number, afterMs: number): string {
  return `UPDATE signing_secrets SET expires_at = UTC_TIMESTAMP(3) + ${interval(afterMs)} WHERE tenant_id = ${text(tenantId)} AND seq = ${integer(seq)}`;
}

/**
 * Removes those that come before `belowSeq`, valid or not.
 *
 * Index: primary key, a range. Locks: the rows (X); the tenant is locked. Isolation: READ COMMITTED. Result: how many.
 */
export function deleteSigningSecretsSql(tenantId: TenantId, belowSeq: number): string {
  return `DELETE FROM signing_secrets WHERE tenant_id = ${text(tenantId)} AND seq < ${integer(belowSeq)}`;
}
