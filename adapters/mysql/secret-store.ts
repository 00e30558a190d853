/** Data keys and signing secrets of one shard's tenants. */
import type { TenantId } from "#core/domain/ids.ts";
import { SIGNING_VALID_MAX } from "#core/domain/limits.ts";
import type {
  SealedSigningSecret,
  SecretStore,
  StoredSigningSecret,
  WrappedKey,
} from "#core/ports/secret-store.ts";
import { readInstant, readInstantOrNull } from "./cells.ts";
import { DataKeyReads, readDataKey, readDataKeyName } from "./data-key-reads.ts";
import type { Row, Session } from "./pool.ts";
import * as dataKeys from "./statements/data-keys.ts";
import { lockTenantSql } from "./statements/lock-tenant.ts";
import * as signing from "./statements/signing-secrets.ts";
import type { Database } from "./transaction.ts";

export function secretStore(database: Database): SecretStore {
  const one = async (sql: string): Promise<WrappedKey | null> => {
    const [row] = await database.select(sql);
    return row === undefined ? null : readDataKey(row);
  };
  const reads = new DataKeyReads(database);
  return {
    async addDataKey(key) {
      await database.write(dataKeys.insertDataKeySql(key));
    },
    keepDataKey: (key) =>
      database.transaction(async (session) => {
        await session.write(lockTenantSql(key.tenantId));
        const [there] = await session.select(dataKeys.selectFirstDataKeySql(key));
        if (there !== undefined) return readDataKey(there);
        await session.write(dataKeys.insertDataKeySql(key));
        return key;
      }),
    firstDataKey: (context) => one(dataKeys.selectFirstDataKeySql(context)),
    findDataKey: (context, id) => reads.find({ ...context, id }),
    async sampleDataKeys() {
      const rows = await database.select(dataKeys.sampleDataKeysSql());
      const found = await Promise.all(
        rows.map(([name]) => reads.find(readDataKeyName(String(name)))),
      );
      return found.filter((key) => key !== null);
    },
    listSigningSecrets: (tenantId) => list(database, tenantId).then(secretsOf),
    keepSigningSecret: (tenantId, secret) =>
      database.transaction(async (session) => {
        await session.write(lockTenantSql(tenantId));
        const there = await list(session, tenantId);
        if (there.length > 0) return secretsOf(there);
        await session.write(signing.insertSigningSecretSql(tenantId, 1, secret));
        return secretsOf(await list(session, tenantId));
      }),
    rotateSigningSecret: (tenantId, secret, overlapMs) =>
      database.transaction((session) => rotate(session, tenantId, secret, overlapMs)),
  };
}

interface Numbered {
  readonly seq: number;
  readonly secret: StoredSigningSecret;
}

async function rotate(
  session: Session,
  tenantId: TenantId,
  secret: SealedSigningSecret,
  overlapMs: number,
): Promise<readonly StoredSigningSecret[]> {
  await session.write(lockTenantSql(tenantId));
  const [newest] = await list(session, tenantId);
  const before = newest?.seq ?? 0;
  if (newest !== undefined) {
    await session.write(signing.expireSigningSecretSql(tenantId, before, overlapMs));
    await session.write(signing.deleteSigningSecretsSql(tenantId, before + 2 - SIGNING_VALID_MAX));
  }
  await session.write(signing.insertSigningSecretSql(tenantId, before + 1, secret));
  return secretsOf(await list(session, tenantId));
}

async function list(from: Pick<Session, "select">, tenantId: TenantId): Promise<Numbered[]> {
  const rows = await from.select(signing.listSigningSecretsSql(tenantId));
  return rows.map(readSigningSecret);
}

function secretsOf(numbered: readonly Numbered[]): StoredSigningSecret[] {
  return numbered.map(({ secret }) => secret);
}

function readSigningSecret([seq, id, fingerprint, sealed, createdAt, expiresAt]: Row): Numbered {
  const secret: StoredSigningSecret = {
    id: (id as Buffer).toString("hex"),
    fingerprint: (fingerprint as Buffer).toString("hex"),
    sealed: sealed as Buffer,
    createdAtMs: readInstant(createdAt),
    expiresAtMs: readInstantOrNull(expiresAt),
  };
  return { seq: seq as number, secret };
}
