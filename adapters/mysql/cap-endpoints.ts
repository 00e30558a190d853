/**
 * Caps of each endpoint that a tenant's tasks call: set in the transaction that writes a task, so that its jobs are limited from the
 * first, and a task that is refused leaves none. What other tasks of the endpoint have in line already follows after the COMMIT.
 */
import { endpointKey, type LimitKey } from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { TaskAllowance } from "#core/ports/task-store.ts";
import { holdForTasks } from "./line-up-jobs.ts";
import type { Session } from "./pool.ts";
import { capEndpointsSql, selectCapsSql } from "./statements/call-limits.ts";
import type { Database } from "./transaction.ts";

/** As a transaction; `work` caps the endpoints of the URLs that it has written, at most once. */
export async function cappingEndpoints<T>(
  database: Database,
  { tenantId, quota }: { readonly tenantId: TenantId; readonly quota: TaskAllowance | null },
  work: (session: Session, cap: (urls: readonly string[]) => Promise<void>) => Promise<T>,
): Promise<T> {
  let made: readonly LimitKey[] = [];
  const result = await database.transaction((session) => {
    // A run before this one may have been rolled back.
    made = [];
    return work(session, async (urls) => {
      made = await capEndpoints(session, tenantId, urls, quota);
    });
  });
  await holdForTasks(database, made, { isNew: true, check: "missing" });
  return result;
}

/** Answers the keys that had no limit at all until now. An endpoint that has caps keeps them. */
async function capEndpoints(
  session: Session,
  tenantId: TenantId,
  urls: readonly string[],
  quota: TaskAllowance | null,
): Promise<readonly LimitKey[]> {
  const caps = quota?.endpointLimit;
  if (caps === undefined) return [];
  const all = new Set(urls.map((url) => endpointKey(tenantId, url)));
  const keys = [...all].filter((key) => key !== null);
  if (keys.length === 0) return [];
  const rows = await session.select(selectCapsSql(keys));
  const capped = new Map(rows.map(([key, isCapped]) => [key as LimitKey, isCapped === 1]));
  const missing = keys.filter((key) => capped.get(key) !== true);
  if (missing.length > 0) await session.write(capEndpointsSql(missing, caps));
  return missing.filter((key) => !capped.has(key));
}
