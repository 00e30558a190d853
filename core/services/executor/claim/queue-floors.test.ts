import assert from "node:assert/strict";
import { test } from "node:test";
import { makeJobId, makeTaskId } from "#core/domain/ids.ts";
import { FLOOR_SLACK_MS } from "#core/domain/limits.ts";
import type { Poll } from "#core/ports/job-store.ts";
import { QueueFloors } from "./queue-floors.ts";

const JOB = makeJobId(0, makeTaskId(0, 0, new Uint8Array(8)), 0);

function poll(nowMs: number, heads: [number, number][]): Poll {
  return {
    nowMs,
    heads: new Map(heads.map(([queue, dueAtMs]) => [queue, { dueAtMs, jobId: JOB }])),
    revocations: 0,
    criticalTask: false,
    liveWorkers: 1,
    rank: 0,
    waiting: false,
  };
}

test("asks for the queues seen in use, for all of them once in ten polls", () => {
  const floors = new QueueFloors();
  const sizes = [];
  for (let i = 0; i < 11; i++) {
    const asked = floors.next();
    sizes.push(asked.length);
    floors.note(asked, poll(1_000, i === 0 ? [[5, 900]] : []));
  }
  assert.deepEqual(sizes, [64, 5, 5, 5, 5, 5, 5, 5, 5, 5, 64]);
});

test("the floor is the earlier of the head and now, less the slack; one poll in a hundred has none", () => {
  const floors = new QueueFloors();
  const first = floors.next();
  assert.ok(first.every(({ floorMs }) => floorMs === null));
  floors.note(
    first,
    poll(100_000, [
      [0, 90_000],
      [16, 200_000],
    ]),
  );
  assert.equal(floors.floorOf(0), 90_000 - FLOOR_SLACK_MS);
  assert.equal(floors.floorOf(16), 100_000 - FLOOR_SLACK_MS);
  assert.equal(floors.floorOf(32), 100_000 - FLOOR_SLACK_MS);
  const without = [];
  for (let i = 1; i <= 200; i++)
    if (floors.next().every(({ floorMs }) => floorMs === null)) without.push(i);
  assert.deepEqual(without, [100, 200]);
});
