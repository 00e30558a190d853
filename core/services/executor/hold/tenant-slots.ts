/**
 * Who may have a slot. Beside the slots for anyone there are some that only critical jobs may take, and some that only tenants with few
 * calls under way may take: so one tenant's calls, however long they hang, keep neither out, and while it is alone it still has all
 * the slots for anyone. Of the slots for critical jobs a tenant has its quota at most, also while it is alone: who marks everything
 * critical finds the others' slots taken no more than anybody else does.
 *
 * A tenant with a good part of the slots stands aside: it gets another only when nobody else wants it.
 *
 * Neither slots for small tenants nor standing aside is used before calls last LASTING_MS. While they are short a slot is free in a
 * moment anyway, and what goes next goes along a warm connection.
 */
import { assert } from "#core/domain/assert.ts";
import type { TenantId } from "#core/domain/ids.ts";
import {
  ASIDE_SLOTS_ONE_IN,
  CRITICAL_SLOTS_ONE_IN,
  LASTING_MS,
  SMALL_CALLS_MAX,
  SMALL_SLOTS_ONE_IN,
} from "#core/domain/limits.ts";
import { ALL_ALIKE, criticalQuota, type WeightOf } from "#core/domain/tenant-weight.ts";

export type SlotKind = "any" | "critical" | "small";

/** One slot that is taken. */
export interface TakenSlot {
  readonly kind: SlotKind;
  readonly tenantId: TenantId;
  /** Whole ms of the monotonic clock. */
  readonly takenAtMs: number;
}

const NOBODY: ReadonlySet<TenantId> = new Set();

interface UnderWay {
  calls: number;
  /** Of these, in slots for critical jobs. */
  critical: number;
  /** Of their slots' `takenAtMs`: the sum, and the newest. */
  sumMs: number;
  newestMs: number;
}

export class TenantSlots {
  readonly #most: Readonly<Record<SlotKind, number>>;
  readonly #taken: Record<SlotKind, number> = { any: 0, critical: 0, small: 0 };
  readonly #tenants = new Map<TenantId, UnderWay>();
  readonly #asideFrom: number;
  readonly #bigFrom: number;
  readonly #many = new Set<TenantId>();
  /** In slots for anyone: the sum of their `takenAtMs`. */
  #anySumMs = 0;
  /** … and the newest. */
  #anyNewestMs = Number.NEGATIVE_INFINITY;
  readonly #big = new Set<TenantId>();
  readonly #atQuota = new Set<TenantId>();
  readonly #weightOf: WeightOf;

  /** `slots`: for anyone. */
  constructor(slots: number, weightOf: WeightOf = ALL_ALIKE) {
    this.#weightOf = weightOf;
    const small = Math.ceil(slots / SMALL_SLOTS_ONE_IN);
    this.#most = { any: slots, critical: criticalSlots(slots), small };
    this.#asideFrom = Math.ceil(slots / ASIDE_SLOTS_ONE_IN);
    this.#bigFrom = Math.min(SMALL_CALLS_MAX, this.#asideFrom);
  }

  get taken(): number {
    return this.#taken.any + this.#taken.critical + this.#taken.small;
  }

  /** Slots for anyone, taken or not. */
  get most(): number {
    return this.#most.any;
  }

  isFree(kind: SlotKind): boolean {
    return this.#taken[kind] < this.#most[kind];
  }

  /** Whether the slots for anyone are taken for long, so that small tenants need their own. */
  areLasting(nowMs: number): boolean {
    const { any } = this.#taken;
    return any > 0 && nowMs - this.#anySumMs / any >= LASTING_MS;
  }

  /** Tenants that stand aside while others wait: those with many calls, which have lasted so long. */
  asideAt(nowMs: number): ReadonlySet<TenantId> {
    if (this.#many.size === 0) return NOBODY;
    return new Set(
      [...this.#many].filter((tenantId) => this.#lastedMs(tenantId, nowMs) >= LASTING_MS),
    );
  }

  /** Tenants with so many calls that they get no slot for small ones, which have lasted so long: their other jobs wait for those. */
  lastingAt(nowMs: number, lastingMs: number = LASTING_MS): readonly TenantId[] {
    if (this.#big.size === 0) return [];
    return [...this.#big].filter((tenantId) => this.#lastedMs(tenantId, nowMs) >= lastingMs);
  }

  /**
   * Whether jobs of a tenant that are not critical wait for its own calls, of which none has begun for `forMs`. Nor any other: where slots
   * come free it has its turn, unless it stands aside and they are the others'.
   */
  isStuck(tenantId: TenantId, nowMs: number, forMs: number): boolean {
    if (this.isFree("any") || !this.#big.has(tenantId)) return false;
    if (!this.#many.has(tenantId) && nowMs - this.#anyNewestMs < forMs) return false;
    return nowMs - (this.#tenants.get(tenantId)?.newestMs ?? nowMs) >= forMs;
  }

  /** How long a tenant's calls probably last: those of constant length that are under way are half over on average. */
  lastsMs(tenantId: TenantId, nowMs: number): number {
    return 2 * Math.max(1, this.#lastedMs(tenantId, nowMs));
  }

  /** How long a tenant's calls under way have lasted on average. */
  #lastedMs(tenantId: TenantId, nowMs: number): number {
    const { calls = 1, sumMs = nowMs } = this.#tenants.get(tenantId) ?? {};
    return nowMs - sumMs / calls;
  }

  /** Tenants that get no slot for small ones: never more than there are slots for so many calls. */
  get big(): ReadonlySet<TenantId> {
    return this.#big;
  }

  /** Tenants that get no other slot for critical jobs: nobody while half of those are free. */
  get atQuota(): ReadonlySet<TenantId> {
    return 2 * this.#taken.critical < this.#most.critical ? NOBODY : this.#atQuota;
  }

  take(kind: SlotKind, tenantId: TenantId, nowMs: number): TakenSlot {
    assert(this.isFree(kind), "only a free slot is taken");
    assert(kind !== "small" || !this.#big.has(tenantId), "its slots are for small tenants");
    assert(kind !== "critical" || !this.atQuota.has(tenantId), "within its quota");
    const takenAtMs = Math.floor(nowMs);
    this.#taken[kind]++;
    if (kind === "any") {
      this.#anySumMs += takenAtMs;
      this.#anyNewestMs = takenAtMs;
    }
    const tenant = this.#tenants.get(tenantId) ?? { calls: 0, critical: 0, sumMs: 0, newestMs: 0 };
    tenant.calls++;
    if (kind === "critical") this.#countCritical(tenantId, tenant, 1);
    tenant.sumMs += takenAtMs;
    tenant.newestMs = takenAtMs;
    this.#tenants.set(tenantId, tenant);
    if (tenant.calls >= this.#bigFrom) this.#big.add(tenantId);
    if (tenant.calls >= this.#asideFrom) this.#many.add(tenantId);
    return { kind, tenantId, takenAtMs };
  }

  giveBack({ kind, tenantId, takenAtMs }: TakenSlot): void {
    const tenant = this.#tenants.get(tenantId);
    assert(tenant !== undefined, "a slot is given back once");
    this.#taken[kind]--;
    if (kind === "any") this.#anySumMs -= takenAtMs;
    tenant.calls--;
    if (kind === "critical") this.#countCritical(tenantId, tenant, -1);
    tenant.sumMs -= takenAtMs;
    if (tenant.calls === 0) this.#tenants.delete(tenantId);
    if (tenant.calls < this.#bigFrom) this.#big.delete(tenantId);
    if (tenant.calls < this.#asideFrom) this.#many.delete(tenantId);
  }

  #countCritical(tenantId: TenantId, tenant: UnderWay, by: 1 | -1): void {
    tenant.critical += by;
    const quota = criticalQuota(this.#most.critical, this.#weightOf(tenantId));
    if (tenant.critical >= quota) this.#atQuota.add(tenantId);
    else this.#atQuota.delete(tenantId);
  }

  /**
   * Of each tenant that `lastingAt` names for `lastingMs`: its calls under way, and about how many will start in the next `withinMs`,
   * judged by how long those have lasted. At least its part of a whole set of slots, as it has of those calls: they may end together.
   */
  startsWithin(
    withinMs: number,
    nowMs: number,
    lastingMs: number,
  ): ReadonlyMap<TenantId, { readonly calls: number; readonly starts: number }> {
    const callsOf = (tenantId: TenantId) => this.#tenants.get(tenantId)?.calls ?? 0;
    const lasting = this.lastingAt(nowMs, lastingMs);
    const all = lasting.reduce((sum, tenantId) => sum + callsOf(tenantId), 0);
    return new Map(
      lasting.map((tenantId) => {
        const calls = callsOf(tenantId);
        const starts = (calls * withinMs) / this.lastsMs(tenantId, nowMs);
        return [
          tenantId,
          { calls, starts: Math.ceil(Math.max((calls * this.#most.any) / all, starts)) },
        ];
      }),
    );
  }
}

/** Slots that only critical jobs may take, on top of `slots`. */
export function criticalSlots(slots: number): number {
  return Math.ceil(slots / CRITICAL_SLOTS_ONE_IN);
}
