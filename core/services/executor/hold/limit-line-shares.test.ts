/** Who of those that wait under a limit goes first, and how its queues and lines share it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LimitKey } from "#core/domain/call-limit.ts";
import { A, atOnce, B, type Item, item, TENANT } from "#test/support/limit-line-items.ts";
import { LimitLines } from "./limit-lines.ts";

test("of a tenant's lines that wait for its own limit, critical jobs go first, of a queue the longest due", () => {
  const lines = new LimitLines<Item>();
  const late = item(A, 32, 50);
  const early = item(B, 32, 40);
  const urgent = item(TENANT, 0, 60);
  lines.grant(
    [A, B].map((key) => ({ key, limit: atOnce(1), slots: 1, takenAtMs: 0 })),
    0,
  );
  lines.grant([{ key: TENANT, limit: atOnce(1), slots: 1, takenAtMs: 0 }], 0);
  for (const one of [late, early, urgent]) {
    lines.add(one);
    lines.offer(one);
  }
  const order: Item[] = [];
  for (;;) {
    const [next, ...more] = lines.admit(100);
    if (next === undefined) break;
    assert.deepEqual(more, [], "one slot");
    order.push(next);
    lines.remove(next, 100);
  }
  assert.deepEqual(order, [urgent, early, late]);
});

/** Jobs that never run out: whoever goes makes room for another of its line and queue. Of `turns`, how many had each queue, by line. */
function partsOf(
  lines: LimitLines<Item>,
  crowd: readonly (readonly [LimitKey, queue: number, runAtMs: number])[],
  turns: number,
): Map<LimitKey, Map<number, number>> {
  const offer = (next: Item) => {
    lines.add(next);
    lines.offer(next);
  };
  for (const [key, queue, runAtMs] of crowd) offer(item(key, queue, runAtMs));
  const had = new Map<LimitKey, Map<number, number>>();
  for (let turn = 0; turn < turns; turn++) {
    const gone = lines.admit(turn);
    for (const { job } of gone) {
      const ofLine = had.get(job.limitKey) ?? new Map();
      had.set(job.limitKey, ofLine.set(job.queue, (ofLine.get(job.queue) ?? 0) + 1));
      offer(item(job.limitKey, job.queue, job.runAtMs));
    }
    for (const one of gone) lines.remove(one, turn);
  }
  return had;
}

function assertPart(part: number, expected: number): void {
  assert.ok(Math.abs(part - expected) < 0.03, `${part} instead of ${expected}`);
}

test("queues of a line share a slot by their weights: priorities, lanes, stripes", () => {
  const lines = new LimitLines<Item>();
  lines.grant([{ key: TENANT, limit: atOnce(1), slots: 1, takenAtMs: 0 }], 0);
  const queues = [16, 17, 20, 25, 48];
  const had = partsOf(
    lines,
    queues.map((queue) => [TENANT, queue, 0]),
    4_000,
  ).get(TENANT);
  const parts = [8, 4, 0.5, 0.5].map((weight) => ((6 / 7) * weight) / 13);
  for (const [at, part] of [...parts, 1 / 7].entries())
    assertPart((had?.get(queues[at] ?? 0) ?? 0) / 4_000, part);
});

test("queues of a tenant's lines share a slot of its own by their weights, however many lines are in one of them", () => {
  const lines = new LimitLines<Item>();
  const low = Array.from({ length: 10 }, (_, i) => `acme|https://${i}.example:443` as LimitKey);
  const own = [A, ...low].map((key) => ({ key, limit: atOnce(2), slots: 2, takenAtMs: 0 }));
  lines.grant([...own, { key: TENANT, limit: atOnce(1), slots: 1, takenAtMs: 0 }], 0);
  const crowd = [[A, 16, 9] as const, ...low.map((key) => [key, 48, 0] as const)];
  assertPart((partsOf(lines, crowd, 4_000).get(A)?.get(16) ?? 0) / 4_000, 6 / 7);
});

test("where a tenant's own slots are not short, each of its lines shares by itself, also those that go at once", () => {
  for (const ofTenant of [null, atOnce(100)]) {
    const lines = new LimitLines<Item>();
    const others = Array.from(
      { length: 20 },
      (_, i) => `acme|https://${i}.example:443` as LimitKey,
    );
    const own = [A, ...others].map((key) => ({ key, limit: atOnce(1), slots: 1, takenAtMs: 0 }));
    lines.grant([...own, { key: TENANT, limit: ofTenant, slots: 100, takenAtMs: 0 }], 0);
    const crowd = [
      [A, 16, 9] as const,
      [A, 48, 9] as const,
      ...others.map((key) => [key, 16, 0] as const),
    ];
    assertPart((partsOf(lines, crowd, 2_000).get(A)?.get(48) ?? 0) / 2_000, 1 / 7);
  }
});
