import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type LimitKey, tenantKeyOf } from "#core/domain/call-limit.ts";
import { CallTimes, planStarts } from "#core/domain/limited-take.ts";
import { LIMIT_IDLE_MS } from "#core/domain/limits.ts";
import { LANES } from "#core/domain/queue.ts";
import { A, atOnce, B, type Item, item, TENANT } from "#test/support/limit-line-items.ts";
import { type Grant, LimitLines } from "./limit-lines.ts";
import { lateMsAt } from "./line-starts.ts";

const OTHER = "other|https://a.example:443" as LimitKey;
const KEYS = [A, B, OTHER, TENANT];
const NO_SLOTS = { slots: 0, takenAtMs: 0 };

function keysOf(limitKey: LimitKey): LimitKey[] {
  const tenantKey = tenantKeyOf(limitKey);
  return limitKey === tenantKey ? [limitKey] : [limitKey, tenantKey];
}

const QUEUES_USED = [0, 1, 16, 17, 24, 48];

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
      queue: fc.constantFrom(...QUEUES_USED),
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

test("whatever comes in whatever order: never a call beyond the slots, critical jobs of each line first, the longest due of each queue, nobody held up without cause", () => {
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
              ((job.queue < LANES && next.job.queue >= LANES) ||
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
      // Every slot is free again: as many go as there are slots.
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

/** What a rate lets start in any second: `perSecond` and one, or 2 %. */
function mostAt(perSecond: number): number {
  return Math.ceil(((1_000 + lateMsAt(perSecond)) * perSecond) / 1_000);
}

test("rates: each call has an instant of its own, used at its time or a little later, however long jobs wait in between; late ones are lost and lacking", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 20, max: 100 }),
      fc.integer({ min: 1, max: 2 ** 31 - 1 }),
      (ofTenant, rates, jobs, seed) => {
        let state = seed;
        const below = (max: number) => {
          state = (state * 48_271) % (2 ** 31 - 1);
          return state % max;
        };
        const lines = new LimitLines<Item>();
        const keys = rates.map((_, i) => `acme|https://${i}.example:443` as LimitKey);
        const times = new Map([
          [TENANT, new CallTimes(ofTenant, 0)],
          ...keys.map((of, i) => [of, new CallTimes(rates[i] ?? 1, 0)] as const),
        ]);
        const limitOf = (perSecond: number) => ({ limit: { concurrency: null, perSecond } });
        const askStarts = (nowMs: number) => {
          const asked = keys.map((of) => ({
            ...{ key: of, slotsMax: 1, tenantSlotsMax: 1, jobsMax: 0 },
            startsMax: lines.lookAt(of).lackingStarts,
          }));
          const starts = planStarts(asked, times, { nowMs, untilMs: nowMs + 2_000 });
          const own = keys.map((of, i) => {
            const startsAtMs = starts.get(of) ?? [];
            return { key: of, ...limitOf(rates[i] ?? 1), ...NO_SLOTS, startsAtMs };
          });
          lines.grant([{ key: TENANT, ...limitOf(ofTenant), ...NO_SLOTS }, ...own], nowMs);
        };
        for (let i = 0; i < jobs; i++) {
          const next = item(keys[i % keys.length] ?? A);
          lines.add(next);
          lines.offer(next);
        }
        const starts: { key: LimitKey; atMs: number }[] = [];
        let admitted: Item[] = [];
        let hangs = 0;
        let nowMs = 0;
        let looks = 0;
        // Whoever looks may look late, sometimes very late; slots may be short; what is lost is asked for.
        for (; starts.length < jobs; looks++) {
          assert.ok(looks < 20_000, "it goes on");
          if (looks % 3 === 0) lines.giveUpIdle(nowMs);
          askStarts(nowMs);
          admitted.push(...lines.admit(nowMs));
          hangs = hangs > 0 ? hangs - 1 : below(2) * below(10);
          const left = hangs > 0 ? admitted : [];
          for (const next of hangs > 0 ? [] : admitted) {
            if (!lines.start(next, nowMs)) lines.offerAgain(next);
            else {
              starts.push({ key: next.job.limitKey, atMs: nowMs });
              lines.remove(next, nowMs);
            }
          }
          admitted = left;
          const wakeMs = admitted.length > 0 ? nowMs : (lines.wakeAtMs ?? nowMs);
          nowMs = Math.max(nowMs, wakeMs) + below(2) * below(300);
        }
        assert.equal(lines.unadmitted, 0);
        const check = (of: readonly { atMs: number }[], perSecond: number) => {
          for (const { atMs: from } of of) {
            const inSecond = of.filter(({ atMs }) => atMs >= from && atMs < from + 1_000).length;
            assert.ok(inSecond <= mostAt(perSecond), `${inSecond} in a second at ${perSecond}`);
          }
        };
        check(starts, ofTenant);
        for (const [i, of] of keys.entries())
          check(
            starts.filter(({ key: own }) => own === of),
            rates[i] ?? 1,
          );
      },
    ),
    { numRuns: 120 },
  );
});

test("a job that comes too late for its instant frees its slot, and asks for another once it finds a slot; a call under way asks for none", () => {
  const lines = new LimitLines<Item>();
  const limit = { concurrency: 1, perSecond: 10 };
  const grant = (nowMs: number, ...startsAtMs: number[]) => {
    lines.grant([{ key: TENANT, limit, slots: 1, takenAtMs: 7, startsAtMs }], nowMs);
    return lines.admit(nowMs);
  };
  const [first, second] = [item(TENANT), item(TENANT)];
  for (const each of [first, second]) {
    lines.add(each);
    lines.offer(each);
  }
  assert.deepEqual(grant(0, 0, 100), [first]);
  assert.equal(lines.mayStart(first, 50), true);
  assert.equal(lines.mayStart(first, 51), false, "half of the time to the next is over");
  assert.equal(lines.start(first, 51), false);
  lines.offerAgain(first);
  assert.deepEqual(lines.admit(51), []);
  assert.deepEqual(
    [lines.unadmitted, lines.wakeAtMs, lines.lookAt(TENANT).lackingStarts],
    [2, 100, 0],
    "one slot, and an instant for whoever finds it free",
  );
  assert.deepEqual(
    lines.admit(100),
    [second],
    "the slot is free; of two that are alike the other goes",
  );
  assert.equal(lines.start(second, 149), true);
  assert.deepEqual(grant(150, 200), []);
  assert.equal(lines.lookAt(TENANT).lackingStarts, 0);
  lines.remove(second, 160);
  assert.deepEqual(lines.admit(251), [], "too late");
  assert.equal(lines.lookAt(TENANT).lackingStarts, 1);
  assert.deepEqual(grant(252, 300), []);
  assert.deepEqual(lines.admit(300), [first]);
  assert.equal(lines.start(first, 300), true);
  assert.equal(lines.lookAt(TENANT).lackingStarts, 0);
});

test("jobs ask for instants where slots are free, and for as many more as calls have ended lately: after two seconds half", () => {
  const lines = new LimitLines<Item>();
  const rate = { concurrency: null, perSecond: 100 };
  const grant = (takenAtMs: number, ...startsAtMs: number[]) => {
    const own: Grant = { key: A, limit: atOnce(3), slots: 3, takenAtMs, startsAtMs };
    lines.grant([own, { key: TENANT, limit: rate, slots: 1, takenAtMs }], takenAtMs);
  };
  grant(1_000);
  for (let i = 0; i < 9; i++) {
    const one = item(A);
    lines.add(one);
    lines.offer(one);
  }
  const lacking = () => lines.lookAt(A).lackingStarts;
  assert.equal(lacking(), 3);
  grant(1_000, 1_001, 1_001, 1_001);
  assert.equal(lacking(), 0);
  const busy = lines.admit(1_001);
  assert.equal(busy.filter((each) => lines.start(each, 1_001)).length, 3);
  assert.equal(lacking(), 0, "all slots are in use");
  for (const each of busy.slice(0, 2)) lines.remove(each, 1_002);
  assert.equal(lacking(), 4, "two are free, and two may be as soon again");
  grant(1_000);
  assert.equal(lacking(), 4, "what ended during a take counts after it");
  grant(3_000);
  assert.equal(lacking(), 3);
  grant(2_000);
  assert.equal(lacking(), 3, "the clock was set back");
  grant(6_000);
  assert.equal(lacking(), 2);
});

test("an answer about an endpoint's line leaves what is counted of its tenant's own; a job that goes without a call is not", () => {
  const lines = new LimitLines<Item>();
  const limit = { concurrency: 2, perSecond: 100 };
  const own = { key: TENANT, limit, slots: 2, takenAtMs: 1_000 };
  lines.grant([{ ...own, startsAtMs: [1_000, 1_000] }], 1_000);
  const [called, left] = [item(TENANT), item(TENANT)];
  for (const each of [called, left]) {
    lines.add(each);
    lines.offer(each);
  }
  assert.equal(lines.admit(1_000).length, 2);
  assert.equal(lines.start(called, 1_000), true);
  lines.remove(called, 1_001);
  lines.remove(left, 1_001);
  assert.equal(lines.lookAt(TENANT).ended, 1);
  lines.grant([{ key: A, limit: atOnce(3), slots: 3, takenAtMs: 1_000 }, own], 1_002);
  assert.equal(lines.lookAt(TENANT).ended, 1);
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

test("a job that goes before its time takes no other out of its line", () => {
  const lines = new LimitLines<Item>();
  const early = item(A);
  const due = [item(A), item(A)];
  lines.grant([{ key: A, limit: atOnce(2), slots: 0, takenAtMs: 0 }], 0);
  lines.grant([{ key: TENANT, limit: null, slots: 0, takenAtMs: 0 }], 0);
  for (const one of [early, ...due]) lines.add(one);
  for (const one of due) lines.offer(one);
  lines.remove(early, 0);
  assert.equal(lines.lookAt(A).waiting, 2);
  lines.grant([{ key: A, limit: atOnce(2), slots: 2, takenAtMs: 1 }], 1);
  assert.deepEqual(lines.admit(1), due);
});

test("where lines of a tenant wait for instants of their rates, the first of those wakes", () => {
  for (const [ofA, ofB] of [
    [10, 20],
    [20, 10],
  ] as const) {
    const lines = new LimitLines<Item>();
    const rate = { concurrency: null, perSecond: 1 };
    lines.grant(
      [
        { key: A, limit: rate, slots: 0, takenAtMs: 0, startsAtMs: [ofA] },
        { key: B, limit: rate, slots: 0, takenAtMs: 0, startsAtMs: [ofB] },
        { key: TENANT, limit: null, slots: 0, takenAtMs: 0 },
      ],
      0,
    );
    for (const one of [item(A), item(B)]) {
      lines.add(one);
      lines.offer(one);
    }
    assert.deepEqual(lines.admit(0), []);
    assert.equal(lines.wakeAtMs, 10);
  }
});
