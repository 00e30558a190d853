/** What all group statements over jobs share: rows in key order, and the join that they drive. */
import type { JobId } from "#core/domain/ids.ts";
import { jobKey } from "../literals.ts";

/** Joins `jobs` to a group whose first columns are (part, id), walking the group. */
export const JOBS_OF_GROUP =
  "STRAIGHT_JOIN jobs FORCE INDEX (PRIMARY) ON jobs.part = r.part AND jobs.id = r.id";

/** `ROW(part, id, rest), …` sorted by key: groups that overlap then lock in one order, and never wait crosswise. */
export function groupRows<Item extends { readonly id: JobId }>(
  items: readonly Item[],
  rest: (item: Item) => string,
): string {
  return items
    .map((item) => ({ item, ...jobKey(item.id) }))
    .sort((a, b) => a.part - b.part || (a.id < b.id ? -1 : 1))
    .map(({ item, part, id }) => {
      const more = rest(item);
      return more === "" ? `ROW(${part},${id})` : `ROW(${part},${id},${more})`;
    })
    .join(",");
}

/** Jobs by nothing but their ids, walked in key order. */
export function jobGroup(jobs: readonly { readonly id: JobId }[]): string {
  return `(VALUES ${groupRows(jobs, () => "")}) AS r (part, id) ${JOBS_OF_GROUP}`;
}
