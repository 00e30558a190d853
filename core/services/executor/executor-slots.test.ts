/** Whose calls get an executor's slots: urgent jobs before others, one tenant's beside another's, critical ones always. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Task } from "#core/domain/task.ts";
import {
  addExecutor,
  addJob,
  addTask,
  endWorld,
  jobOf,
  openWorld,
} from "#test/support/executor-world.ts";

test("more urgent jobs get the free slots first, critical ones one more for every eight, and never more", async () => {
  let atOnce = 0;
  let most = 0;
  const world = openWorld({
    slots: 8,
    endpoint: () => {
      most = Math.max(most, ++atOnce);
      world.clock.setTimer(100, () => atOnce--);
      return { status: 200, afterMs: 100 };
    },
  });
  const { clock, tables, sent } = world;
  await clock.advance(100);
  const add = (priority: Task["priority"]) =>
    Array.from({ length: 18 }, () => addJob(tables, 2_000, { priority }));
  const low = add("low");
  await clock.advance(4_000);
  assert.equal(most, 8);
  assert.deepEqual(new Set(sent.map(({ headers }) => headers["idempotency-key"])), new Set(low));
  sent.length = 0;
  add("low");
  const critical = add("critical");
  await clock.advance(4_000);
  const order = sent.map(({ headers }) => headers["idempotency-key"] as JobId);
  assert.deepEqual(new Set(order.slice(0, 18)), new Set(critical));
  assert.equal(sent.length, 36);
  assert.equal(most, 9);
  await endWorld(world);
});

test("every slot hangs and memory is full: a critical job is claimed and sent at the next poll all the same", async () => {
  const slots = 64;
  const world = openWorld({
    slots,
    endpoint: ({ headers }) => ({
      status: 200,
      afterMs: urgent.has(String(headers["idempotency-key"])) ? 10 : 25_000,
    }),
  });
  const urgent = new Set<string>();
  const { clock, tables, sent, executor } = world;
  for (let i = 0; i < 500; i++) addJob(tables, 0);
  await clock.advance(3_000);
  assert.equal(executor.load.sending, slots);
  const { held } = executor.load;
  assert.ok(held >= 2 * slots && held <= 4 * slots, `memory is full, and no more: ${held}`);
  for (let i = 0; i < 40; i++) {
    const id = addJob(tables, 0, { priority: "critical" });
    urgent.add(id);
    const fromMs = clock.nowMs();
    await clock.advance(300);
    const call = sent.find(({ headers }) => headers["idempotency-key"] === id);
    assert.ok(call !== undefined && call.atMs - fromMs <= 250, `${call?.atMs} after ${fromMs}`);
  }
  assert.equal(sent.length, slots + urgent.size);
  await endWorld(world);
});

test("critical tasks that no scheduler makes are made and sent by executors: each occurrence once, at its time", async () => {
  const world = openWorld({ slots: 64 });
  const { clock, tables, sent } = world;
  await clock.advance(100);
  const atMs = clock.nowMs() + 500;
  const at = new Date(atMs).toISOString();
  const once = { schedule: { type: "at" as const, at }, nextRunAtMs: atMs };
  const { task } = addTask(tables, { ...once, priority: "critical" });
  const normal = addTask(tables, { ...once, priority: "normal" });
  const startMs = clock.nowMs() + 1_000;
  const anchor = new Date(startMs).toISOString();
  const each = addTask(tables, {
    schedule: { type: "every", seconds: 1, anchor },
    nextRunAtMs: startMs,
    priority: "critical",
  });
  await clock.advance(5_000);
  const callsOf = (id: string) =>
    [...tables.jobs.values()]
      .filter(({ taskId }) => taskId === id)
      .map((job) => sent.filter(({ headers }) => headers["idempotency-key"] === job.id))
      .filter((calls) => calls.length > 0);
  const [calls, ...others] = callsOf(task.id);
  assert.deepEqual([calls?.length, others.length], [1, 0]);
  const lagMs = (calls?.[0]?.atMs ?? 0) - atMs;
  assert.ok(lagMs >= 0 && lagMs <= 10, `${lagMs} ms`);
  assert.equal(tables.tasks.get(task.id)?.status, "completed");
  assert.equal(tables.tasks.get(normal.task.id)?.nextRunAtMs, atMs, "left to the scheduler");
  const ticks = callsOf(each.task.id);
  assert.ok(ticks.length >= 4 && ticks.every(({ length }) => length === 1));
  await endWorld(world);
});

const NEIGHBOUR = "neighbour" as TenantId;

test("a tenant's calls hang on all slots: others' jobs start at their second in slots beside them, and a slot that is free goes to others first", async () => {
  const world = openWorld({ slots: 8, endpoint: () => ({ status: 200, afterMs: 5_000 }) });
  const { clock, tables, sent, executor } = world;
  await clock.advance(100);
  for (let i = 0; i < 40; i++) addJob(tables, 1_900);
  await clock.advance(2_500);
  assert.equal(executor.load.sending, 8, "alone it has all slots, and no more");
  const dueMs = tables.nowMs() + 1_500;
  const others = Array.from({ length: 5 }, (_, i) =>
    addJob(tables, 1_500, { tenantId: `neighbour-${i}` as TenantId }),
  );
  await clock.advance(6_000);
  const callsOf = (atMs: number) => sent.filter((call) => call.atMs === atMs);
  assert.equal(callsOf(dueMs).length, 4, "half as many as the slots for anyone");
  const waited = others.find((id) =>
    callsOf(dueMs).every(({ headers }) => headers["idempotency-key"] !== id),
  );
  const next = sent.find(({ atMs }) => atMs > dueMs);
  assert.equal(next?.headers["idempotency-key"], waited, "before those that are due for longer");
  assert.equal(callsOf(next?.atMs ?? 0).length, 8, "then the hanging ones go on");
  await endWorld(world);
});

test("a tenant has far more calls that hang than memory may hold: another's job is claimed and sent at the next poll, and no attempt is spent", async () => {
  const slots = 16;
  const world = openWorld({
    slots,
    endpoint: ({ headers }) => ({
      status: 200,
      afterMs: quick.has(String(headers["idempotency-key"])) ? 10 : 25_000,
    }),
  });
  const quick = new Set<string>();
  const { clock, tables, sent, executor } = world;
  const hanging = Array.from({ length: 3_000 }, () => addJob(tables, 0));
  // Where its tenant's jobs beyond its share go.
  for (const id of hanging) {
    const job = jobOf(tables, id);
    tables.jobs.set(id, { ...job, queue: job.queue + 1 });
  }
  await clock.advance(5_000);
  for (let i = 0; i < 30; i++) {
    const id = addJob(tables, 0, { tenantId: NEIGHBOUR });
    quick.add(id);
    const fromMs = clock.nowMs();
    await clock.advance(800);
    const call = sent.find(({ headers }) => headers["idempotency-key"] === id);
    assert.ok(call !== undefined && call.atMs - fromMs <= 700, `${call?.atMs} after ${fromMs}`);
    assert.equal(executor.load.sending, slots);
    assert.ok(executor.load.held <= 400, `${executor.load.held} in memory`);
  }
  const jobs = hanging.map((id) => jobOf(tables, id));
  assert.equal(jobs.filter(({ status }) => status === "succeeded").length, slots);
  assert.ok(jobs.some(({ claimNo, status }) => claimNo > 0 && status === "pending"));
  for (const { status, attempt } of jobs)
    if (status === "pending") assert.equal(attempt, 0, "no attempt is spent");
  await endWorld(world);
});

test("while a burst of critical jobs waits nothing else is claimed; then everything is", async () => {
  const slots = 8;
  const world = openWorld({ slots, endpoint: () => ({ status: 200, afterMs: 10 }) });
  const { clock, tables, sent, executor } = world;
  await clock.advance(100);
  const critical = new Set(
    Array.from({ length: 600 }, () => addJob(tables, 0, { priority: "critical" })),
  );
  await clock.advance(250);
  assert.equal(executor.pressed, true);
  for (let i = 0; i < 50; i++) addJob(tables, 0, { priority: "high" });
  const { held } = executor.load;
  await clock.advance(250);
  assert.equal(executor.pressed, true);
  assert.ok(executor.load.held <= held, "nothing has come");
  await clock.advance(6_000);
  const order = sent.map(({ headers }) => headers["idempotency-key"] as JobId);
  assert.deepEqual(new Set(order.slice(0, critical.size)), critical);
  assert.equal(sent.length, critical.size + 50);
  await endWorld(world);
});

test("of a queue of which plenty is ready no more is claimed, of others it is, and slots never wait for a claim", async () => {
  const slots = 8;
  const afterMs = 10;
  const world = openWorld({ slots, endpoint: () => ({ status: 200, afterMs }) });
  const { clock, tables, sent, executor } = world;
  await clock.advance(100);
  const jobs = 4_000;
  for (let i = 0; i < jobs; i++) addJob(tables, 0);
  await clock.advance(2_000);
  const { held } = executor.load;
  assert.ok(held > 250 && held <= 1_100, `two claims at most wait in memory: ${held}`);
  const high = Array.from({ length: 5 }, () => addJob(tables, 0, { priority: "high" }));
  await clock.advance(300);
  const called = new Set(sent.map(({ headers }) => headers["idempotency-key"]));
  assert.ok(high.every((id) => called.has(id)));
  const leftMs = ((jobs + high.length - sent.length) * afterMs) / slots;
  await clock.advance(leftMs + 500);
  assert.equal(sent.length, jobs + high.length);
  await endWorld(world);
});

test("critical jobs of one instant are not all claimed ahead by who polls first: of three executors each has its part", async () => {
  const endpoint = () => ({ status: 200, afterMs: 4 });
  const world = openWorld({ slots: 64, endpoint });
  const { clock, tables, sent } = world;
  const others = [201, 202].map((seed) => addExecutor(world, { slots: 64, endpoint, seed }));
  await clock.advance(3_000);
  for (let i = 0; i < 6_000; i++) addJob(tables, 0);
  await clock.advance(8_000);
  assert.equal(sent.length, 6_000, "each has learnt how fast it is");
  for (let i = 0; i < 1_500; i++) addJob(tables, 2_000, { priority: "critical" });
  await clock.advance(1_990);
  const held = [world.executor, ...others.map(({ executor }) => executor)].map(
    (executor) => executor.load.held,
  );
  assert.ok(
    held.every((jobs) => jobs >= 250 && jobs <= 750),
    `held: ${held}`,
  );
  await clock.advance(1_000);
  assert.equal(sent.length, 7_500);
  await endWorld(world);
  for (const { ended } of others) assert.equal(await ended, true);
});

for (const priority of ["normal", "critical"] as const)
  test(`calls of ${priority} jobs last: however many of them are ready, another tenant's job is claimed and sent at the next poll`, async () => {
    const world = openWorld({ slots: 64, endpoint: () => ({ status: 200, afterMs: 100 }) });
    const { clock, tables, sent } = world;
    for (let i = 0; i < 4_000; i++)
      addJob(tables, 0, { priority, tenantId: `large-${i % 10}` as TenantId });
    await clock.advance(2_500);
    for (let i = 0; i < 5; i++) {
      const id = addJob(tables, 0, { tenantId: `quiet-${i}` as TenantId });
      await clock.advance(300);
      assert.ok(sent.some(({ headers }) => headers["idempotency-key"] === id));
    }
    assert.ok(sent.length < 4_000, "the others have not ended");
    await endWorld(world);
  });

test("an executor of many slots fills them all, however long its first calls last", async () => {
  const slots = 200;
  const world = openWorld({ slots, endpoint: () => ({ status: 200, afterMs: 20_000 }) });
  const { clock, tables, executor } = world;
  await clock.advance(100);
  for (let i = 0; i < 2 * slots; i++) addJob(tables, 0, { tenantId: `tenant-${i}` as TenantId });
  await clock.advance(3_000);
  assert.ok(executor.load.sending >= slots, `${executor.load.sending} calls under way`);
  await endWorld(world);
});
