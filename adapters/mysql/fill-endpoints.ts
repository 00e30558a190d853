/**
 * `tasks.endpoint_key` is written with a task's version. Rows of releases before it have none, and after a rollback behind it one may be
 * that of a version before: limits of endpoints would not hold for such tasks. They are mended where a limit is put, in small groups.
 */
import { endpointKey } from "#core/domain/call-limit.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { LINE_UP_MS_MAX } from "#core/domain/limits.ts";
import { readTaskId } from "./cells.ts";
import type { Row } from "./pool.ts";
import {
  fillEndpointsSql,
  listEndpointsSql,
  type TaskEndpoint,
} from "./statements/fill-endpoints.ts";
import type { Database } from "./transaction.ts";

const GROUP_MAX = 200;

/** Answers how many rows were changed. It ends where it takes too long; what is left is mended by the next time. */
export async function fillEndpoints(
  database: Database,
  tenantId: TenantId,
  whose: "all" | "missing",
): Promise<number> {
  const endsAt = performance.now() + LINE_UP_MS_MAX;
  let after: TaskId | null = null;
  let filled = 0;
  while (performance.now() < endsAt) {
    const rows: Row[] = await database.select(listEndpointsSql(tenantId, whose, after, GROUP_MAX));
    const wrong = rows.flatMap((row) => wrongEndpoint(tenantId, row));
    if (wrong.length > 0) filled += await database.write(fillEndpointsSql(wrong));
    const last = rows.at(-1);
    if (last === undefined || rows.length < GROUP_MAX) break;
    after = readTaskId(last[0]);
  }
  return filled;
}

function wrongEndpoint(tenantId: TenantId, [id, version, known, url]: Row): TaskEndpoint[] {
  const key = endpointKey(tenantId, url as string);
  return key === known ? [] : [{ taskId: readTaskId(id), requestVersion: version as number, key }];
}
