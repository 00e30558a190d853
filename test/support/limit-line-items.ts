/** Jobs as LimitLines knows them. */
import type { LimitKey } from "#core/domain/call-limit.ts";

export const TENANT = "acme" as LimitKey;
export const A = "acme|https://a.example:443" as LimitKey;
export const B = "acme|https://b.example:443" as LimitKey;

export interface Item {
  readonly id: number;
  readonly job: { readonly limitKey: LimitKey; readonly queue: number; readonly runAtMs: number };
}

let ids = 0;
export function item(limitKey: LimitKey, queue = 32, runAtMs = 0): Item {
  return { id: ids++, job: { limitKey, queue, runAtMs } };
}

export function atOnce(concurrency: number) {
  return { concurrency, perSecond: null };
}
