import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type LimitKey, tenantKeyOf } from "#core/domain/call-limit.ts";
import { LIMIT_IDLE_MS, START_LATE_MS_MIN } from "#core/domain/limits.ts";
import { LimitLines } from "./limit-lines.ts";

const TENANT = "acme" as LimitKey;
const A = "acme|https://a.example:443" as LimitKey;
const B = "acme|https://b.example:443" as LimitKey;
const OTHER = "other|https://a.example:443" as LimitKey;
const KEYS = [A, B, OTHER, TENANT];
const NO_SLOTS = { slots: 0, takenAtMs: 0 };

interface Item {
  readonly id: number;
  readonly job: { readonly limitKey: LimitKey; readonly queue: number; readonly runAtMs: number };
}

let ids = 0;
function item(limitKey: LimitKey, queue = 64, runAtMs = 0): Item {
  return { id: ids++, job: { limitKey, queue, runAtMs } };
}

function atOnce(concurrency: number) {
  return { concurrency, perSecond: null };
}

function keysOf(limitKey: LimitKey): LimitKey[] {
  const tenantKey = tenantKeyOf(limitKey);
  return limitKey === tenantKey ? [limitKey] : [limitKey, tenantKey];
}

type Command =
  | { readonly kind: "offer"; readonly key: LimitKey; readonly queue: number; readonly due: number }
  | { readonly kind: "grant"; readonly key: LimitKey; readonly slots: number | null }
  | { readonly kind: "remove"; readonly at: number }
  | { readonly kind: "idle" | "fence" | "drain"; readonly afterMs: number };

const key = fc.constantFrom(...KEYS);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("offer" as const),
      key,
      queue: fc.nat(3),
      due: fc.nat(5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("grant" as const),
      key,
      slots: fc.option(fc.nat(4), { freq: 8 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("remove" as const), at: fc.nat(50) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("idle" as const, "fence" as const, "drain" as const),
      afterMs: fc.nat(2 * LIMIT_IDLE_MS),
    }),
  },
);

test("whatever comes in whatever order: never a call beyond the slots, the most urgent of each line first, nobody held up without cause", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 200, size: "max" }), (commands) => {
      const lines = new LimitLines<Item>();
      /** Undefined: not granted yet; null: no limit. */
      const slots = new Map<LimitKey, number | null>();
      const inLine = new Set<Item>();
      const calling = new Set<Item>();
      let nowMs = 0;
      const busy = (of: LimitKey) =>
        [...calling].filter(({ job }) => keysOf(job.limitKey).includes(of)).length;
      const isFree = (of: LimitKey) => {
        const held = slots.get(of);
        return held === null || (held !== undefined && busy(of) < held);
      };
      const settle = () => {
        for (const next of lines.admit(nowMs)) {
          for (const of of keysOf(next.job.limitKey)) assert.ok(isFree(of), `${of} has no slot`);
          const ahead = [...inLine].filter(
            ({ id, job }) =>
              job.limitKey === next.job.limitKey &&
              (job.queue < next.job.queue ||
                (job.queue === next.job.queue &&
                  (job.runAtMs < next.job.runAtMs ||
                    (job.runAtMs === next.job.runAtMs && id < next.id)))),
          );
          assert.deepEqual(ahead, [], "somebody stood before it");
          assert.ok(inLine.delete(next));
          calling.add(next);
        }
        for (const { job } of inLine)
          assert.ok(!keysOf(job.limitKey).every(isFree), "it could have gone");
        assert.equal(lines.unadmitted, inLine.size);
      };
      const run = (step: Command) => {
        switch (step.kind) {
          case "offer": {
            const next = item(step.key, step.queue, step.due);
            inLine.add(next);
            lines.add(next);
            lines.offer(next);
            return;
          }
          case "grant": {
            slots.set(step.key, step.slots);
            const limit = step.slots === null ? null : atOnce(4);
            lines.grant(
              [{ key: step.key, limit, slots: step.slots ?? 0, takenAtMs: nowMs }],
              nowMs,
            );
            return;
          }
          case "remove": {
            const all = [...calling, ...inLine];
            const gone = all[step.at % Math.max(1, all.length)];
            if (gone === undefined) return;
            calling.delete(gone);
            inLine.delete(gone);
            lines.remove(gone, nowMs);
            return;
          }
          case "fence":
            for (const [of, held] of slots) if (held !== null) slots.set(of, 0);
            lines.forgetSlots();
            return;
          case "idle":
          case "drain": {
            nowMs += step.afterMs;
            const kept = step.kind === "idle" ? lines.giveUpIdle(nowMs) : lines.giveUpUnused();
            for (const { key: of, slots: left } of kept) {
              assert.ok(left >= Math.min(busy(of), slots.get(of) ?? 0), "a slot in use is kept");
              slots.set(of, left);
            }
            // A key of which nobody is here is forgotten: it is granted anew before it counts again.
            for (const of of KEYS) if (lines.lookAt(of).own.limit === undefined) slots.delete(of);
          }
        }
      };
      for (const step of commands) {
        run(step);
        settle();
      }
      for (const each of [...calling, ...inLine]) lines.remove(each, nowMs);
      calling.clear();
      inLine.clear();
      // Every permit is free again: as many go as there are slots.
      lines.grant(
        [A, TENANT].map((of) => ({ key: of, limit: atOnce(4), slots: 4, takenAtMs: 0 })),
        nowMs,
      );
      for (let i = 0; i < 6; i++) {
        const next = item(A);
        lines.add(next);
        lines.offer(next);
      }
      assert.equal(lines.admit(nowMs).length, 4);
    }),
    { numRuns: 300 },
  );
});

test("a rate: each call has an instant of its own, used at its time or a little later; late ones are lost and lacking", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 20, maxLength: 100 }),
      (perSecond, gaps) => {
        const lines = new LimitLines<Item>();
        const spacingMs = 1_000 / perSecond;
        const grant = (startsAtMs: readonly number[]) =>
          lines.grant(
            [
              { key: A, limit: { concurrency: null, perSecond }, ...NO_SLOTS, startsAtMs },
              { key: TENANT, limit: null, ...NO_SLOTS },
            ],
            0,
          );
        let nextMs = 0;
        const instants = (count: number, nowMs: number) =>
          Array.from({ length: count }, () => {
            const atMs = Math.max(nextMs, nowMs);
            nextMs = atMs + spacingMs;
            return Math.ceil(atMs);
          });
        grant(instants(gaps.length, 0));
        for (const _ of gaps) {
          const next = item(A);
          lines.add(next);
          lines.offer(next);
        }
        const starts: number[] = [];
        let nowMs = 0;
        // Whoever looks may look late, sometimes very late; what is lost is asked for.
        for (let looks = 0; starts.length < gaps.length; looks++) {
          assert.ok(looks < 10_000, "it goes on");
          for (const _ of lines.admit(nowMs)) starts.push(nowMs);
          grant(instants(lines.lookAt(A).lackingStarts, nowMs));
          for (const _ of lines.admit(nowMs)) starts.push(nowMs);
          nowMs = Math.max(nowMs, lines.wakeAtMs ?? 0) + (gaps[looks % gaps.length] ?? 0);
        }
        const lateMs = Math.max(START_LATE_MS_MIN, 0.5 * spacingMs);
        const most = Math.floor((1_000 + lateMs) / spacingMs) + 1;
        for (const from of starts) {
          const inSecond = starts.filter((atMs) => atMs >= from && atMs < from + 1_000).length;
          assert.ok(inSecond <= most, `${inSecond} in a second at ${perSecond}`);
        }
      },
    ),
    { numRuns: 100 },
  );
});

test("slots that are not used for a second are given up, those in use are kept", () => {
  const lines = new LimitLines<Item>();
  lines.grant([{ key: TENANT, limit: atOnce(5), slots: 5, takenAtMs: 7 }], 0);
  const two = [item(TENANT), item(TENANT)];
  for (const each of two) {
    lines.add(each);
    lines.offer(each);
  }
  assert.equal(lines.admit(10).length, 2);
  assert.deepEqual(lines.giveUpIdle(LIMIT_IDLE_MS - 1), []);
  assert.deepEqual(lines.giveUpIdle(LIMIT_IDLE_MS), [{ key: TENANT, slots: 2, takenAtMs: 7 }]);
  for (const each of two) lines.remove(each, LIMIT_IDLE_MS + 10);
  assert.deepEqual(lines.giveUpIdle(LIMIT_IDLE_MS + 20), []);
  assert.deepEqual(lines.giveUpIdle(2 * LIMIT_IDLE_MS), [], "they were used in this second");
  assert.deepEqual(lines.giveUpIdle(3 * LIMIT_IDLE_MS), [{ key: TENANT, slots: 0, takenAtMs: 7 }]);
  assert.equal(lines.lookAt(TENANT).own.limit, undefined, "nothing is left of it");
});

test("an endpoint's slot goes back at once where the tenant's is in other hands", () => {
  const lines = new LimitLines<Item>();
  const own = { key: A, limit: atOnce(1), slots: 1, takenAtMs: 7 };
  lines.grant([own, { key: TENANT, limit: atOnce(1), slots: 0, takenAtMs: 7 }], 0);
  assert.deepEqual(lines.giveUpIdle(1), [{ key: A, slots: 0, takenAtMs: 7 }]);
  lines.grant([own, { key: TENANT, limit: atOnce(1), slots: 1, takenAtMs: 7 }], 2);
  assert.deepEqual(lines.giveUpIdle(3), [], "with both it is kept for a while");
});

test("a line is as quick as its calls were", () => {
  const lines = new LimitLines<Item>();
  lines.grant([{ key: TENANT, limit: atOnce(1), slots: 1, takenAtMs: 7 }], 0);
  const one = item(TENANT);
  lines.add(one);
  assert.deepEqual([lines.lookAt(TENANT).held, lines.lookAt(TENANT).waiting], [1, 0]);
  lines.offer(one);
  lines.admit(100);
  lines.remove(one, 130);
  assert.equal(lines.lookAt(TENANT).meanMs, 30);
});
