import {
  DATA_KEY_BEGINS_BYTES,
  DATA_KEY_SAMPLES_MAX,
  DATA_KEYS_LOOKED_AT,
} from "#core/domain/limits.ts";
import type { WrappedKey } from "#core/ports/secret-store.ts";
import type { KeyContext } from "#core/ports/secrets.ts";
import { bytes, integer, text } from "../literals.ts";

const COLUMNS = "tenant_id, purpose, id, wrapped";

/**
 * Keeps a data key.
 *
 * Index: primary key. Locks: the new row (X). Isolation: READ COMMITTED. Result: 1.
 */
export function insertDataKeySql({ tenantId, purpose, id, wrapped }: WrappedKey): string {
  return `INSERT INTO data_keys (${COLUMNS}, created_at) VALUES (${text(tenantId)}, ${text(purpose)}, ${bytes(Buffer.from(id, "hex"))}, ${bytes(wrapped)}, UTC_TIMESTAMP(3))`;
}

/**
 * A tenant's first key of a purpose.
 *
 * Index: primary key, the first of a range. Locks: none. Isolation: READ COMMITTED. Result: one row or none.
 */
export function selectFirstDataKeySql({ tenantId, purpose }: KeyContext): string {
  return `SELECT ${COLUMNS} FROM data_keys WHERE tenant_id = ${text(tenantId)} AND purpose = ${text(purpose)} ORDER BY tenant_id, purpose, id LIMIT 1`;
}

/** Index: primary key, a row at a time. Locks: none. Isolation: READ COMMITTED. Result: the rows that exist, in any order. */
export function selectDataKeysSql(
  names: readonly (KeyContext & { readonly id: string })[],
): string {
  const keys = names.map(({ tenantId, purpose, id }) => {
    return `(${text(tenantId)},${text(purpose)},${bytes(Buffer.from(id, "hex"))})`;
  });
  return `SELECT ${COLUMNS} FROM data_keys FORCE INDEX (PRIMARY) WHERE (tenant_id, purpose, id) IN (${keys.join(",")})`;
}

/**
 * One of each that begin alike, by its tenant, purpose and id in hex with `/` between.
 *
 * Index: primary key, the first DATA_KEYS_LOOKED_AT rows (0.1 to 0.3 s). Locks: none. Isolation: READ COMMITTED.
 * Result: (name), at most DATA_KEY_SAMPLES_MAX.
 */
export function sampleDataKeysSql(): string {
  const first = `SELECT tenant_id, purpose, id, LEFT(wrapped, ${integer(DATA_KEY_BEGINS_BYTES)}) AS beginning FROM data_keys FORCE INDEX (PRIMARY) ORDER BY tenant_id, purpose, id LIMIT ${integer(DATA_KEYS_LOOKED_AT)}`;
  return `SELECT MIN(CONCAT(tenant_id, '/', purpose, '/', HEX(id))) FROM (${first}) AS looked_at GROUP BY beginning LIMIT ${integer(DATA_KEY_SAMPLES_MAX)}`;
}
