/** Slots in workers' hands. Index of all: primary key (limit_key, worker_id), in its order. Isolation: READ COMMITTED. */
import type { LimitKey } from "#core/domain/call-limit.ts";
import type { WorkerId } from "#core/domain/ids.ts";
import type { KeptSlots } from "#core/ports/limit-store.ts";
import { instant, integer, text, workerId } from "../literals.ts";

export interface SlotsKey {
  readonly key: LimitKey;
  readonly worker: WorkerId;
}

function byKey(a: SlotsKey, b: SlotsKey): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return a.worker < b.worker ? -1 : 1;
}

/** Under the lock of their limits: slots of holders that are gone, or not wanted any more. Locks: the rows (X). Result: not used. */
export function deleteSlotsSql(slots: readonly SlotsKey[]): string {
  const keys = [...slots]
    .sort(byKey)
    .map(({ key, worker }) => `(${text(key)},${workerId(worker)})`);
  return `DELETE FROM limit_slots WHERE (limit_key, worker_id) IN (${keys.join(",")})`;
}

/** Under the lock of their limits: what a worker holds from now on. Locks: the rows (X). Result: not used. */
export function upsertSlotsSql(
  worker: WorkerId,
  takenAtMs: number,
  held: readonly { readonly key: LimitKey; readonly slots: number }[],
): string {
  const rows = [...held]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(
      ({ key, slots }) =>
        `(${text(key)},${workerId(worker)},${integer(slots)},${instant(takenAtMs)})`,
    );
  return `INSERT INTO limit_slots (limit_key, worker_id, slots, taken_at) VALUES ${rows.join(",")} AS new ON DUPLICATE KEY UPDATE slots = new.slots, taken_at = new.taken_at`;
}

function kept(worker: WorkerId, held: readonly KeptSlots[]): string {
  const rows = [...held]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(
      ({ key, slots, takenAtMs }) => `ROW(${text(key)},${integer(slots)},${instant(takenAtMs)})`,
    );
  return `(VALUES ${rows.join(",")}) AS r (limit_key, slots, taken_at) STRAIGHT_JOIN limit_slots FORCE INDEX (PRIMARY) ON limit_slots.limit_key = CONVERT(r.limit_key USING ascii) COLLATE ascii_bin AND limit_slots.worker_id = ${workerId(worker)} AND limit_slots.taken_at <= r.taken_at`;
}

/**
 * Lowers what a worker holds, without the lock of the limits: whoever adds slots up meanwhile counts too many. A take since then has
 * another `taken_at`. Locks: the rows (X). Result: not used.
 */
export function lowerSlotsSql(worker: WorkerId, held: readonly KeptSlots[]): string {
  return `UPDATE ${kept(worker, held)} SET limit_slots.slots = LEAST(limit_slots.slots, r.slots)`;
}

/** The same, to nothing. Locks: the rows (X). Result: not used. */
export function dropSlotsSql(worker: WorkerId, held: readonly KeptSlots[]): string {
  return `DELETE limit_slots FROM ${kept(worker, held)}`;
}
