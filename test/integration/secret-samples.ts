/** The statements about secrets, for statement-samples.ts. */
import * as dataKeys from "#adapters/mysql/statements/data-keys.ts";
import { selectCallPartsSql } from "#adapters/mysql/statements/select-call-parts.ts";
import * as signing from "#adapters/mysql/statements/signing-secrets.ts";
import * as taskSecrets from "#adapters/mysql/statements/task-secrets.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";

const TENANT = "tenant-7" as TenantId;
const SECRET = { name: "auth", fingerprint: "00".repeat(32), sealed: new Uint8Array(80) };

/** Of a group of tasks, by the function that writes it. */
export function secretGroups(taskIds: readonly TaskId[]): Readonly<Record<string, string>> {
  return {
    selectCallPartsSql: selectCallPartsSql({
      versions: taskIds.map((taskId) => ({ taskId, requestVersion: 1 })),
      secretsOf: taskIds,
      signingOf: [TENANT],
    }),
    upsertTaskSecretsSql: taskSecrets.upsertTaskSecretsSql(
      taskIds.map((taskId) => ({ taskId, secret: SECRET })),
    ),
    selectDataKeysSql: dataKeys.selectDataKeysSql(
      taskIds.map((_, i) => ({
        tenantId: TENANT,
        purpose: "seal",
        id: i.toString(16).padStart(32, "0"),
      })),
    ),
    purgeTaskSecretsSql: taskSecrets.purgeTaskSecretsSql(taskIds),
  };
}

/** Of one task or tenant. */
export function secretSingles(taskId: TaskId): Readonly<Record<string, string>> {
  const context = { tenantId: TENANT, purpose: "seal" } as const;
  const id = "00".repeat(16);
  const secret = { id: "00".repeat(8), fingerprint: "00".repeat(32), sealed: new Uint8Array(80) };
  return {
    deleteTaskSecretsSql: taskSecrets.deleteTaskSecretsSql(taskId, ["auth", "header:x-a"]),
    insertDataKeySql: dataKeys.insertDataKeySql({ ...context, id, wrapped: new Uint8Array(80) }),
    selectFirstDataKeySql: dataKeys.selectFirstDataKeySql(context),
    sampleDataKeysSql: dataKeys.sampleDataKeysSql(),
    listSigningSecretsSql: signing.listSigningSecretsSql(TENANT),
    insertSigningSecretSql: signing.insertSigningSecretSql(TENANT, 1, secret),
    expireSigningSecretSql: signing.expireSigningSecretSql(TENANT, 1, 1_000),
    deleteSigningSecretsSql: signing.deleteSigningSecretsSql(TENANT, 2),
  };
}
