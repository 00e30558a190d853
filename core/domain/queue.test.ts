import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TenantId } from "./ids.ts";
import {
  FIRST_STRIPE,
  LANES,
  laneBehind,
  oneLaneDown,
  PRIORITIES,
  priorityOfQueue,
  priorityOfRank,
  priorityRank,
  QUEUES,
  queueOf,
  shareRoom,
} from "./queue.ts";

const queue = fc.nat({ max: QUEUES - 1 });
const tenant = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/).map((id) => id as TenantId);

test("a queue is priority × 16 + lane, and its number says its priority", () => {
  assert.deepEqual(PRIORITIES.map(queueOf), [0, 16, 32, 48]);
  for (let number = 0; number < QUEUES; number++) {
    const priority = priorityOfQueue(number);
    assert.equal(queueOf(priority), number - (number % LANES));
  }
  for (const priority of PRIORITIES) assert.equal(priorityOfRank(priorityRank(priority)), priority);
  for (const rank of [-1, 4, 0.5]) assert.throws(() => priorityOfRank(rank), /indicates a bug/);
  assert.throws(() => priorityOfQueue(QUEUES), /indicates a bug/);
});

test("one lane down: 0 → 1 → 2 → the tenant's stripe, which stays; never another priority", () => {
  fc.assert(
    fc.property(queue, tenant, (from, id) => {
      const to = oneLaneDown(from, id);
      assert.equal(priorityOfQueue(to), priorityOfQueue(from));
      const lane = from % LANES;
      if (lane < 2) assert.equal(to, from + 1);
      else if (lane > 2) assert.equal(to, from);
      else assert(to % LANES >= 3 && to === oneLaneDown(from, id), "a stripe, always the same");
    }),
  );
});

test("tenants spread over all thirteen stripes", () => {
  const counts = new Map<number, number>();
  for (let i = 0; i < 1_300; i++) {
    const lane = oneLaneDown(2, `tenant-${i}` as TenantId);
    counts.set(lane, (counts.get(lane) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts.keys()].sort((a, b) => a - b),
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  );
  assert(Math.min(...counts.values()) > 50 && Math.max(...counts.values()) < 200);
});

test("room is shared by weight: 6 : 3 : 1, and 8 : 4 : 2 : 1 within a priority", () => {
  const limits = (queues: number[], room: number) =>
    shareRoom(queues, { any: room, critical: 0 }).map(({ queue: number, limit }) => [
      number,
      limit,
    ]);
  assert.deepEqual(limits([48, 16, 32], 100), [
    [16, 60],
    [32, 30],
    [48, 10],
  ]);
  assert.deepEqual(limits([16, 48], 70), [
    [16, 60],
    [48, 10],
  ]);
  assert.deepEqual(limits([32], 100), [[32, 100]]);
  assert.deepEqual(limits([16, 17, 18, 19], 150), [
    [16, 80],
    [17, 40],
    [18, 20],
    [19, 10],
  ]);
  assert.deepEqual(limits([0, 16, 32], 90), [
    [0, 90],
    [16, 60],
    [32, 30],
  ]);
  assert.deepEqual(limits([0, 48], 10), [
    [0, 10],
    [48, 10],
  ]);
});

test("every queue with jobs gets something, none more than the room, most urgent first; the room is used up", () => {
  const queues = fc.uniqueArray(queue, { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(queues, fc.integer({ min: 1, max: 2_000 }), (present, room) => {
      const shares = shareRoom(present, { any: room, critical: 0 });
      const sorted = [...present].sort((a, b) => a - b);
      assert.deepEqual(
        shares.map((share) => share.queue),
        sorted,
      );
      for (const { limit } of shares) {
        assert(Number.isInteger(limit) && limit >= 1 && limit <= room);
      }
      assert(shares.reduce((sum, { limit }) => sum + limit, 0) >= room);
    }),
  );
  assert.throws(() => shareRoom([0], { any: 0, critical: 0 }), /indicates a bug/);
  assert.deepEqual(shareRoom([], { any: 5, critical: 0 }), []);
});

test("the stripes of a priority share one weight", () => {
  const shares = shareRoom([32, 35, 36, 40, 47], { any: 90, critical: 0 });
  assert.deepEqual(
    shares.map(({ limit }) => limit),
    [80, 3, 3, 3, 3],
  );
});

test("room that only critical jobs may take: they get it, others never do", () => {
  const limits = (any: number, critical: number) =>
    shareRoom([0, 1, 16, 48], { any, critical }).map(({ queue: number, limit }) => [number, limit]);
  assert.deepEqual(limits(0, 8), [[0, 8]], "not what is beyond its tenant's share");
  assert.deepEqual(limits(70, 8), [
    [0, 55],
    [1, 24],
    [16, 60],
    [48, 10],
  ]);
});

test("work-conserving: what one queue does not want goes to the others, by their weights", () => {
  const wanted = new Map([
    [16, 4],
    [32, 1],
  ]);
  const wantedBy = (number: number) => wanted.get(number) ?? Number.POSITIVE_INFINITY;
  const shares = shareRoom([16, 32, 35, 48], { any: 100, critical: 0, wantedBy });
  assert.deepEqual(
    shares.map(({ limit }) => limit),
    [4, 1, 71, 24],
  );
});

test("lanes by how many of the tenant are in front: its share, 4 times, 16 times, a stripe", () => {
  const lanes = [0, 99, 100, 399, 400, 1_599, 1_600, 1e9].map((inFront) =>
    laneBehind(inFront, 100),
  );
  assert.deepEqual(lanes, [0, 0, 1, 1, 2, 2, FIRST_STRIPE, FIRST_STRIPE]);
});
