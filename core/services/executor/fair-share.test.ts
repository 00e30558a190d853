/**
 * Claims over the lanes, simulated: makers place jobs, one executor claims as often as its rate allows, what is claimed is gone.
 * The queues, their order and the shares are those of the real claim; calls, clocks and the store are left out.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import type { Priority } from "#core/domain/queue.ts";
import { shareRoom } from "#core/domain/queue.ts";
import { TenantLanes } from "#core/domain/tenant-lanes.ts";
import { QueueWants } from "./queue-wants.ts";

const CLAIM_MS = 50;
/** 5,000 a second. */
const ROOM = 250;

interface Waiting {
  readonly tenant: string;
  readonly queue: number;
  readonly dueAtMs: number;
}

class Simulation {
  nowMs = 0;
  readonly claimed: (Waiting & { readonly claimedAtMs: number })[] = [];
  readonly #queues = new Map<number, Waiting[]>();
  readonly #lanes = new TenantLanes();
  readonly #wants = new QueueWants();

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
      left -= taken.length;
      more = this.#wants.note(shares, taken);
      for (const job of taken) this.claimed.push({ ...job, claimedAtMs: this.nowMs });
    }
    this.nowMs += CLAIM_MS;
    return ROOM - left;
  }

  countOf(tenant: string, untilMs = Number.POSITIVE_INFINITY): number {
    return this.claimed.filter((job) => job.tenant === tenant && job.claimedAtMs < untilMs).length;
  }
}

test("a tenant with 50,000 jobs beside 200 quiet ones at one a second: quiet jobs are claimed at once, and no room is left unused", () => {
  const simulation = new Simulation();
  simulation.add("burst", "normal", 50_000);
  let periods = 0;
  while (simulation.countOf("burst") < 50_000 && periods < 1_000) {
    for (let i = 0; i < 200; i++)
      if (periods % 20 === i % 20) simulation.add(`quiet-${i}`, "normal", 1);
    const took = simulation.claimPeriod();
    periods++;
    if (simulation.waiting > 0) assert.equal(took, ROOM, "work-conserving");
  }
  const quiet = simulation.claimed.filter(({ tenant }) => tenant !== "burst");
  const lags = quiet.map(({ claimedAtMs, dueAtMs }) => claimedAtMs - dueAtMs);
  assert.ok(quiet.length > 2_000);
  assert.ok(Math.max(...lags) <= CLAIM_MS, `worst ${Math.max(...lags)} ms`);
});

test("a burst of 50,000 beside a tenant that brings 80 % of what can be done: neither is below 35 % while both wait", () => {
  const simulation = new Simulation();
  simulation.add("burst", "normal", 50_000);
  const bothWaitMs = 10_000;
  while (simulation.nowMs < bothWaitMs) {
    simulation.add("steady", "normal", ROOM * 0.8);
    simulation.claimPeriod();
  }
  const share = simulation.countOf("steady") / simulation.claimed.length;
  assert.ok(share >= 0.35 && share <= 0.65, `steady has ${share}`);
});

test("low is served while high and normal always have more than can be done: by its weight", () => {
  const simulation = new Simulation();
  for (let period = 0; period < 100; period++) {
    simulation.add("high", "high", ROOM);
    simulation.add("normal", "normal", ROOM);
    simulation.add("low", "low", ROOM);
    simulation.claimPeriod();
  }
  const parts = ["high", "normal", "low"].map((tenant) => simulation.countOf(tenant) / 25_000);
  for (const [i, part] of [0.6, 0.3, 0.1].entries())
    assert.ok(Math.abs((parts[i] ?? 0) - part) < 0.03, `${parts}`);
});
