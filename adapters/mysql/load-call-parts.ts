/** Reads what calls need, of all jobs of a claim together. */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import type { RetryPolicy } from "#core/domain/retry-policy.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import type { StoredSecret } from "#core/domain/task-secrets.ts";
import type { CallPartsRequest, CarriedVersion, LoadedCallParts } from "#core/ports/task-store.ts";
import { readTaskId } from "./cells.ts";
import type { Row } from "./pool.ts";
import { SECRET_ROW, SIGNING_ROW, selectCallPartsSql } from "./statements/select-call-parts.ts";
import type { Database } from "./transaction.ts";

type SigningRow = { readonly seq: number; readonly id: string; readonly sealed: Uint8Array };

export async function loadCallParts(
  database: Database,
  request: CallPartsRequest,
): Promise<LoadedCallParts> {
  const versions: CarriedVersion[] = [];
  const secrets = new Map<TaskId, StoredSecret[]>();
  const signing = new Map<TenantId, SigningRow[]>();
  for (const row of await select(database, request)) {
    switch (row[0]) {
      case SECRET_ROW:
        addTo(secrets, readTaskId(row[1]), readSecret(row));
        break;
      case SIGNING_ROW:
        addTo(signing, String(row[1]) as TenantId, readSigning(row));
        break;
      default:
        versions.push(readVersion(row));
    }
  }
  for (const rows of signing.values()) rows.sort((a, b) => b.seq - a.seq);
  return { versions, secrets, signing };
}

async function select(database: Database, request: CallPartsRequest): Promise<Row[]> {
  const { versions, secretsOf, signingOf } = request;
  if (versions.length + secretsOf.length + signingOf.length === 0) return [];
  return database.select(selectCallPartsSql(request));
}

function addTo<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}

function readVersion(row: Row): CarriedVersion {
  const request = row[4] as HttpRequest;
  const version = {
    taskId: readTaskId(row[1]),
    requestVersion: row[2] as number,
    request,
    retry: row[5] as RetryPolicy,
  };
  if (Object.hasOwn(request, "body")) return version;
  return { ...version, request: { ...request, body: null, bodyBase64: null }, bodyLeftOut: true };
}

function readSecret(row: Row): StoredSecret {
  return { name: String(row[3]), sealed: row[6] as Buffer, requestVersion: row[2] as number };
}

function readSigning(row: Row): SigningRow {
  return {
    seq: row[2] as number,
    id: (row[3] as Buffer).toString("hex"),
    sealed: row[6] as Buffer,
  };
}
