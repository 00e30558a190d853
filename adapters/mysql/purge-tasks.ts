/** Housekeeping: tasks that ended long ago, and rows that nobody reads any more. */

import { readTaskId } from "./cells.ts";
import type { Cell } from "./pool.ts";
import { deleteExpiredKeysSql, listExpiredKeysSql } from "./statements/idempotency-keys.ts";
import {
  deleteTasksSql,
  lockEndedTasksSql,
  selectTasksWithJobsSql,
} from "./statements/purge-tasks.ts";
import { pruneRevocationsSql } from "./statements/revocations.ts";
import { purgeTaskSecretsSql } from "./statements/task-secrets.ts";
import type { Database } from "./transaction.ts";

/** Keys that one statement removes: the answer to a bulk may have 5 MB (measured: 60 such in 0.3 s). */
const KEYS_MAX = 100;

export function purgeTasks(
  database: Database,
  limit: number,
  olderThanMs: number,
): Promise<number> {
  return database.transaction(async (session) => {
    const ended = await session.select(lockEndedTasksSql(olderThanMs, limit));
    if (ended.length === 0) return 0;
    const ids = ended.map((row) => readTaskId(row[0]));
    const rows = await session.select(selectTasksWithJobsSql(ids));
    const busy = new Set(rows.map((row) => readTaskId(row[0])));
    const idle = ids.filter((id) => !busy.has(id));
    if (idle.length === 0) return 0;
    await session.write(purgeTaskSecretsSql(idle));
    await session.write(deleteTasksSql(idle));
    return idle.length;
  });
}

export async function pruneRows(database: Database, limit: number): Promise<number> {
  const revocations = await database.write(pruneRevocationsSql(limit));
  const expired = await database.select(listExpiredKeysSql(limit));
  if (expired.length === 0) return revocations;
  const keys = expired.map(([part, tenantId, route, key]) => ({
    part: part as number,
    tenantId: asText(tenantId),
    route: asText(route),
    key: asText(key),
  }));
  let answers = 0;
  for (let at = 0; at < keys.length; at += KEYS_MAX)
    answers += await database.write(deleteExpiredKeysSql(keys.slice(at, at + KEYS_MAX)));
  return revocations + answers;
}

function asText(cell: Cell | undefined): string {
  return cell as string;
}
