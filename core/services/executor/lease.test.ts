import assert from "node:assert/strict";
import { test } from "node:test";
import { START_WINDOW_MS } from "#core/domain/limits.ts";
import { Lease } from "./lease.ts";

test("a process that stood still: the lease has lapsed, also where a renewal's answer is heard before the timer", async () => {
  let nowMs = 0;
  let answerAtMs = 0;
  const clock = { monotonicMs: () => nowMs, setTimer: () => () => {} } as never;
  const random = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };
  const workers = {
    register: async () => {},
    renew: async () => {
      nowMs = answerAtMs;
      return { kind: "held" };
    },
  } as never;
  const lease = new Lease({ clock, random, workers });
  let told = 0;
  lease.onLapse = () => told++;
  await lease.renewOnce();
  answerAtMs = START_WINDOW_MS - 1;
  await lease.renewOnce();
  assert.deepEqual([told, lease.lapses], [0, 0]);
  nowMs = 1_000;
  answerAtMs = START_WINDOW_MS;
  await lease.renewOnce();
  assert.deepEqual([told, lease.lapses], [1, 1]);
});

test("no call starts later than the start window after the last renewal, nor after the last poll", async () => {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs, setTimer: () => () => {} } as never;
  const random = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };
  const workers = { register: async () => {}, renew: async () => ({ kind: "held" }) } as never;
  const lease = new Lease({ clock, random, workers });
  const startsAt = (atMs: number) => {
    nowMs = atMs;
    return lease.mayStart();
  };
  await lease.renewOnce();
  assert.equal(startsAt(0), false, "no poll yet");
  lease.notePoll(3_000);
  assert.equal(startsAt(START_WINDOW_MS - 1), true);
  assert.equal(startsAt(START_WINDOW_MS), false, "renewed at 0");
  nowMs = 4_000;
  await lease.renewOnce();
  assert.equal(startsAt(3_000 + START_WINDOW_MS - 1), true);
  assert.equal(startsAt(3_000 + START_WINDOW_MS), false, "polled at 3 s");
});

test("a renewal that begins while the row is being removed registers no other", async () => {
  const clock = { monotonicMs: () => 0, setTimer: () => () => {} } as never;
  const random = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };
  const removed = Promise.withResolvers<void>();
  let registered = 0;
  const workers = {
    register: async () => void registered++,
    remove: () => removed.promise,
  } as never;
  const lease = new Lease({ clock, random, workers });
  await lease.renewOnce();
  const ended = lease.end();
  assert.equal(await lease.renewOnce(), "held");
  removed.resolve();
  await ended;
  assert.equal(registered, 1);
});

test("a row whose registration is answered after the end is removed", async () => {
  const clock = { monotonicMs: () => 0, setTimer: () => () => {} } as never;
  const random = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };
  const registering = Promise.withResolvers<void>();
  const removed: string[] = [];
  let registered = "";
  const workers = {
    register: (id: string) => {
      registered = id;
      return registering.promise;
    },
    remove: async (id: string) => void removed.push(id),
  } as never;
  const lease = new Lease({ clock, random, workers });
  const renewing = lease.renewOnce();
  await lease.end();
  registering.resolve();
  await renewing;
  assert.deepEqual(removed, [registered]);
  assert.equal(lease.workerId, null);
});
