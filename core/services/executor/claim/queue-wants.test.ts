import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueWants } from "./queue-wants.ts";

function jobsOf(...counts: [queue: number, count: number][]): { queue: number }[] {
  return counts.flatMap(([queue, count]) => Array.from({ length: count }, () => ({ queue })));
}

test("a queue that had less than it was asked for is asked for twice what it had, and some more", () => {
  const wants = new QueueWants();
  const shares = [
    { queue: 16, limit: 300 },
    { queue: 32, limit: 200 },
    { queue: 48, limit: 100 },
  ];
  const more = wants.note(shares, jobsOf([16, 300], [32, 7]), 600);
  assert.deepEqual(more, [16]);
  assert.deepEqual([16, 32, 48].map(wants.wantedBy), [Number.POSITIVE_INFINITY, 24, 10]);
});

test("a claim that is full tells nothing of the queues that it did not come to: they probably have more", () => {
  const wants = new QueueWants();
  const shares = [
    { queue: 0, limit: 40 },
    { queue: 1, limit: 500 },
    { queue: 16, limit: 300 },
    { queue: 32, limit: 150 },
  ];
  const more = wants.note(shares, jobsOf([0, 12], [1, 488]), 500);
  assert.deepEqual(more, [1, 16, 32]);
  assert.deepEqual([0, 1, 16, 32].map(wants.wantedBy), [34, ...Array(3).fill(Infinity)]);
});

test("what was learned holds until a queue gives all that it is asked for again", () => {
  const wants = new QueueWants();
  wants.note([{ queue: 16, limit: 50 }], jobsOf([16, 1]), 50);
  assert.equal(wants.wantedBy(16), 12);
  wants.note(
    [
      { queue: 0, limit: 20 },
      { queue: 16, limit: 12 },
    ],
    jobsOf([0, 20]),
    20,
  );
  assert.equal(wants.wantedBy(16), 12);
  wants.note([{ queue: 16, limit: 12 }], jobsOf([16, 12]), 50);
  assert.equal(wants.wantedBy(16), Number.POSITIVE_INFINITY);
});
