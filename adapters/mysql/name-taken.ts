import type { TenantId } from "#core/domain/ids.ts";
import type { NameTaken } from "#core/ports/task-store.ts";
import { readTaskId } from "./cells.ts";
import type { Session } from "./pool.ts";
import { selectNamesSql } from "./statements/task-quota.ts";

/** The unique key of names: what a duplicate of it says is that another live task of the tenant has the name. */
export const NAME_KEY = "tenant_live_name";

/** The refusal, with the task that has the name. */
export async function nameTaken(
  session: Pick<Session, "select">,
  tenantId: TenantId,
  name: string,
): Promise<NameTaken> {
  const [row] = await session.select(selectNamesSql(tenantId, [name]));
  return { kind: "name-taken", taskId: row === undefined ? null : readTaskId(row[1]) };
}
