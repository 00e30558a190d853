/**
 * Claims over the lanes, simulated: makers place jobs, one executor claims as often as its rate allows, what is claimed is gone.
 * The queues, their order and the shares are those of the real claim; calls, clocks and the store are left out.
 */
import type { TenantId } from "#core/domain/ids.ts";
import type { Priority } from "#core/domain/queue.ts";
import { shareRoom } from "#core/domain/queue.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import { TENANT_WEIGHT_DEFAULT } from "#core/domain/tenant-weight.ts";
import { QueueWants } from "#core/services/executor/claim/queue-wants.ts";

export const CLAIM_MS = 50;
/** 5,000 a second. */
export const ROOM = 250;

interface Waiting {
  readonly tenant: string;
  readonly queue: number;
  readonly dueAtMs: number;
}

export class LaneSimulation {
  nowMs = 0;
  readonly claimed: (Waiting & { readonly claimedAtMs: number })[] = [];
  readonly #queues = new Map<number, Waiting[]>();
  readonly #lanes: TenantLanes;
  readonly #wants = new QueueWants();

  /** By tenant; those that are not named have the default. */
  constructor(weights: Readonly<Record<string, number>> = {}) {
    this.#lanes = new TenantLanes((tenantId) => weights[tenantId] ?? TENANT_WEIGHT_DEFAULT);
  }

  add(tenant: string, priority: Priority, count: number): void {
    for (let i = 0; i < count; i++) {
      const queue = this.#lanes.place(tenant as TenantId, priority, this.nowMs);
      const waiting = this.#queues.get(queue) ?? [];
      waiting.push({ tenant, queue, dueAtMs: this.nowMs });
      this.#queues.set(queue, waiting);
    }
  }

  get waiting(): number {
    return [...this.#queues.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** What one claim period's room takes: an executor claims again at once while a queue gave all that it was asked for. */
  claimPeriod(): number {
    let left = ROOM;
    let more = true;
    while (more && left > 0) {
      const present = [...this.#queues].filter(([, { length }]) => length > 0);
      if (present.length === 0) break;
      const queues = present.map(([queue]) => queue);
      const { wantedBy } = this.#wants;
      const shares = shareRoom(queues, { any: left, critical: 0, wantedBy });
      const taken: Waiting[] = [];
      for (const { queue, limit } of shares) {
        const most = Math.min(limit, left - taken.length);
        taken.push(...(this.#queues.get(queue)?.splice(0, most) ?? []));
      }
      more = this.#wants.note(shares, taken, left).length > 0;
      left -= taken.length;
      for (const job of taken) this.claimed.push({ ...job, claimedAtMs: this.nowMs });
    }
    this.nowMs += CLAIM_MS;
    return ROOM - left;
  }

  countOf(tenant: string, untilMs = Number.POSITIVE_INFINITY): number {
    return this.claimed.filter((job) => job.tenant === tenant && job.claimedAtMs < untilMs).length;
  }
}
