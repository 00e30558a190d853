/** Who may have a slot: the bounds, the slots for small tenants, and that a tenant alone has all those for anyone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TenantId } from "#core/domain/ids.ts";
import { criticalQuota } from "#core/domain/tenant-weight.ts";
import { criticalSlots, type TakenSlot, TenantSlots } from "./tenant-slots.ts";

const [HANGING, QUIET] = ["hanging" as TenantId, "quiet" as TenantId];

test("a tenant alone has all slots for anyone, and then none of those for small tenants; another gets in at once", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), (count) => {
      const slots = new TenantSlots(count);
      for (let i = 0; i < count; i++) slots.take("any", HANGING, 100);
      assert.equal(slots.isFree("any"), false);
      assert.deepEqual([...slots.big], [HANGING]);
      for (const [nowMs, lasts] of [
        [119, false],
        [120, true],
      ] as const) {
        assert.equal(slots.areLasting(nowMs), lasts);
        assert.deepEqual([...slots.asideAt(nowMs)], lasts ? [HANGING] : []);
      }
      assert.ok(slots.isFree("small"));
      const taken = slots.take("small", QUIET, 0);
      assert.equal(slots.taken, count + 1);
      slots.giveBack(taken);
      assert.equal(slots.taken, count);
    }),
  );
});

test("whoever takes and gives back: never above the bounds, and a small tenant is kept out only by other small ones", () => {
  const step = fc.record({
    tenant: fc.constantFrom("a", "b", "c", "d", "e", "f"),
    kind: fc.constantFrom("any", "critical", "small"),
    back: fc.option(fc.nat()),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(step, { maxLength: 300 }),
      (count, steps) => {
        const slots = new TenantSlots(count);
        const taken: TakenSlot[] = [];
        const callsOf = (tenant: string) =>
          taken.filter(({ tenantId }) => tenantId === tenant).length;
        for (const [i, { tenant, kind, back }] of steps.entries()) {
          const tenantId = tenant as TenantId;
          const isBarred =
            (kind === "small" && slots.big.has(tenantId)) ||
            (kind === "critical" && slots.atQuota.has(tenantId));
          if (slots.isFree(kind) && !isBarred) taken.push(slots.take(kind, tenantId, i));
          const [one] = back === null ? [] : taken.splice(back % Math.max(1, taken.length), 1);
          if (one !== undefined) slots.giveBack(one);
          const of = (wanted: string) => taken.filter((slot) => slot.kind === wanted).length;
          assert.equal(slots.taken, taken.length);
          assert.ok(of("any") <= count && of("critical") <= criticalSlots(count));
          assert.ok(of("small") <= Math.ceil(count / 2));
          assert.equal(slots.isFree("small"), of("small") < Math.ceil(count / 2));
          const quarter = Math.ceil(count / 4);
          const quota = criticalQuota(criticalSlots(count), 1);
          for (const other of "abcdef") {
            const calls = callsOf(other);
            assert.equal(slots.asideAt(1_000).has(other as TenantId), calls >= quarter);
            assert.equal(slots.big.has(other as TenantId), calls >= Math.min(4, quarter));
            const critical = taken.filter((one) => one.kind === "critical");
            const own = critical.filter(({ tenantId: owner }) => owner === other).length;
            const kept = criticalSlots(count);
            const isHalfTaken = 2 * critical.length >= kept;
            assert.equal(slots.atQuota.has(other as TenantId), isHalfTaken && own >= quota);
            assert.ok(own <= Math.max(quota, Math.ceil(kept / 2)));
            assert.ok(kept === 1 || own < kept, "never all of several");
          }
        }
      },
    ),
  );
});

test("what a tenant will start soon follows from how long its calls have lasted", () => {
  const slots = new TenantSlots(8);
  for (let i = 0; i < 8; i++) slots.take("any", HANGING, 1_000 * i);
  const startsOf = (tenantId: TenantId, withinMs: number) =>
    slots.startsWithin(withinMs, 7_000, 200).get(tenantId)?.starts;
  assert.equal(slots.lastsMs(HANGING, 7_000), 7_000);
  assert.equal(startsOf(HANGING, 4_000), 8, "never less than a set of slots");
  assert.equal(startsOf(HANGING, 70_000), 80);
  assert.equal(startsOf(QUIET, 70_000), undefined, "it waits for nothing");
});

test("tenants whose calls hang share what is kept ready, one set of slots, as they do the calls", () => {
  const slots = new TenantSlots(64);
  for (let i = 0; i < 64; i++) slots.take("any", `hanging-${i % 4}` as TenantId, 0);
  for (let i = 0; i < 16; i++) slots.take("small", `hanging-${4 + (i >> 2)}` as TenantId, 0);
  slots.take("small", QUIET, 0);
  const soon = [...slots.startsWithin(4_000, 300_000, 200).values()];
  assert.deepEqual(
    soon.map(({ calls }) => calls),
    [16, 16, 16, 16, 4, 4, 4, 4],
  );
  assert.deepEqual(
    soon.map(({ starts }) => starts),
    [13, 13, 13, 13, 4, 4, 4, 4],
  );
});

test("a tenant is stuck when its calls have no slot for anyone left, and none has begun for long", () => {
  const slots = new TenantSlots(8);
  const taken = Array.from({ length: 8 }, (_, i) => slots.take("any", HANGING, i * 100));
  assert.equal(slots.isStuck(HANGING, 2_699, 2_000), false);
  assert.equal(slots.isStuck(HANGING, 2_700, 2_000), true);
  assert.equal(slots.isStuck(QUIET, 2_700, 2_000), false, "it gets a slot for small ones");
  slots.giveBack(taken[0] as TakenSlot);
  assert.equal(slots.isStuck(HANGING, 2_700, 2_000), false);
  slots.take("any", QUIET, 2_700);
  assert.equal(slots.isStuck(HANGING, 2_700, 2_000), true, "none of its own has begun");
});

test("while slots come free for others, a tenant with few calls has its turn and is not stuck; one that stands aside has none", () => {
  for (const [calls, stuck] of [
    [4, false],
    [5, true],
  ] as const) {
    const slots = new TenantSlots(20);
    for (let i = 0; i < calls; i++) slots.take("any", HANGING, 0);
    const others = Array.from({ length: 20 - calls }, () => slots.take("any", QUIET, 0));
    for (let nowMs = 1_000; nowMs <= 5_000; nowMs += 1_000) {
      slots.giveBack(others.pop() as TakenSlot);
      others.push(slots.take("any", QUIET, nowMs));
    }
    assert.equal(slots.isStuck(HANGING, 6_999, 2_000), stuck, `${calls} calls`);
    assert.equal(slots.isStuck(HANGING, 7_000, 2_000), true);
  }
});
