/**
 * Page cursors: the last id of the page before, behind a digest of it, the tenant, the list and its filter. Opaque to callers; one
 * that is garbled, another tenant's, or used with another filter is a 400. The digest has no key: it keeps mistakes out, and what
 * a cursor that somebody has made up names is no more than what `parseId` lets through.
 */
import { createHash } from "node:crypto";
import type { TenantId } from "#core/domain/ids.ts";
import { HttpProblem } from "./problem.ts";

const BINDING_BYTES = 12;
/** Of the longest: a limit key of 300 characters. */
const CURSOR_LENGTH_MAX = 420;

export interface CursorScope {
  readonly tenantId: TenantId;
  /** The list, such as `tasks` or `jobs of task_…`. */
  readonly list: string;
  /** What selects its rows; not the page size. */
  readonly filter: Readonly<Record<string, unknown>>;
}

/** The cursor that follows the row `id`. */
export function writeCursor(scope: CursorScope, id: string): string {
  return Buffer.concat([bindingOf(scope, id), Buffer.from(id)]).toString("base64url");
}

/** The id in a cursor; null without one. Throws HttpProblem 400 for a cursor that was not written for this scope. */
export function readCursor<Id extends string>(
  scope: CursorScope,
  cursor: string | undefined,
  parseId: (text: string) => Id | null,
): Id | null {
  if (cursor === undefined) return null;
  const bytes = Buffer.from(cursor.slice(0, CURSOR_LENGTH_MAX), "base64url");
  const id = parseId(bytes.subarray(BINDING_BYTES).toString("latin1"));
  if (id === null || writeCursor(scope, id) !== cursor)
    throw new HttpProblem(
      400,
      "cursor: is not one that this list has answered with; begin again without it",
    );
  return id;
}

function bindingOf({ tenantId, list, filter }: CursorScope, id: string): Buffer {
  const sorted = Object.keys(filter)
    .sort()
    .map((name) => [name, filter[name] ?? null]);
  const digest = createHash("sha256")
    .update(JSON.stringify([tenantId, list, sorted, id]))
    .digest();
  return digest.subarray(0, BINDING_BYTES);
}
