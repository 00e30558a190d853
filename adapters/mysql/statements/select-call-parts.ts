import { CARRIED_BYTES_MAX } from "#core/domain/limits.ts";
import type { CallPartsRequest } from "#core/ports/task-store.ts";
import { integer, taskKey, text } from "../literals.ts";

/** What a row is: the first column. */
const VERSION_ROW = 0;
export const SECRET_ROW = 1;
export const SIGNING_ROW = 2;

/** Without its bodies where it is large: hundreds of those would outlast the statement's deadline. */
const CARRIED_REQUEST = `IF(JSON_STORAGE_SIZE(v.request) > ${CARRIED_BYTES_MAX}, JSON_REMOVE(v.request, '$.body', '$.bodyBase64'), v.request)`;

/**
 * What the calls of a claim need: versions, secrets of tasks, signing secrets of tenants. One statement, so that a claim stays at
 * six round trips whatever it brings.
 *
 * Index: primary keys, a row or a short range at a time, driven by the groups. Locks: none. Isolation: READ COMMITTED: secrets as
 *   they are committed when the statement begins, with the newest version that their task has by then.
 * Result: (kind, task or tenant, version or seq, name or id, request, retry, sealed), in any order. Something is asked for.
 */
export function selectCallPartsSql({ versions, secretsOf, signingOf }: CallPartsRequest): string {
  const branches: string[] = [];
  if (versions.length > 0) {
    const rows = versions.map(({ taskId, requestVersion }) => {
      const { part, id } = taskKey(taskId);
      return `ROW(${part},${id},${integer(requestVersion)})`;
    });
    branches.push(
      `SELECT ${VERSION_ROW}, v.task_id, v.request_version, NULL, ${CARRIED_REQUEST}, v.retry, NULL FROM (VALUES ${rows.join(",")}) AS r (part, task_id, request_version) STRAIGHT_JOIN task_versions AS v FORCE INDEX (PRIMARY) ON v.part = r.part AND v.task_id = r.task_id AND v.request_version = r.request_version`,
    );
  }
  if (secretsOf.length > 0) {
    const rows = secretsOf.map((taskId) => {
      const { part, id } = taskKey(taskId);
      return `ROW(${part},${id})`;
    });
    branches.push(
      `SELECT ${SECRET_ROW}, s.task_id, t.request_version, CAST(s.name AS BINARY), NULL, NULL, s.sealed FROM (VALUES ${rows.join(",")}) AS r (part, task_id) STRAIGHT_JOIN task_secrets AS s FORCE INDEX (PRIMARY) ON s.part = r.part AND s.task_id = r.task_id STRAIGHT_JOIN tasks AS t FORCE INDEX (PRIMARY) ON t.part = s.part AND t.id = s.task_id`,
    );
  }
  if (signingOf.length > 0) {
    const tenants = signingOf.map(text).join(",");
    branches.push(
      `SELECT ${SIGNING_ROW}, CAST(g.tenant_id AS BINARY), g.seq, g.id, NULL, NULL, g.sealed FROM signing_secrets AS g FORCE INDEX (PRIMARY) WHERE g.tenant_id IN (${tenants}) AND (g.expires_at IS NULL OR g.expires_at > UTC_TIMESTAMP(3))`,
    );
  }
  return branches.join(" UNION ALL ");
}
