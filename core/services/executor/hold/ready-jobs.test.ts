/** The order in which ready jobs are sent, over queues, seconds and connections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { TenantId } from "#core/domain/ids.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { CarriedVersion } from "#core/ports/task-store.ts";
import type { HeldJob } from "./held-job.ts";
import { ReadyJobs } from "./ready-jobs.ts";

const [CRITICAL, HIGH, NORMAL, LOW] = [0, 16, 32, 48] as const;

function readyJob(queue: number, runAtMs: number, connection: string): HeldJob {
  const tenantId = (connection.split(" ")[0] ?? "") as TenantId;
  const job = { queue, runAtMs, tenantId } as ClaimedJob;
  const common = { workerId: "" as HeldJob["workerId"], claimedAtMs: 0 };
  const version = {} as CarriedVersion;
  return { ...common, job, version, connection, phase: "ready", slot: null };
}

function readyWith(jobs: readonly HeldJob[]): ReadyJobs {
  const ready = new ReadyJobs();
  for (const job of jobs) ready.add(job);
  return ready;
}

function take(
  ready: ReadyJobs,
  onlyCritical = false,
  passedOver: readonly string[] = [],
): HeldJob | null {
  const job = ready.take(onlyCritical, new Set(passedOver as TenantId[]));
  if (job !== null) job.phase = "preparing";
  return job;
}

function times(count: number, make: (i: number) => HeldJob): HeldJob[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

test("under constant high, low has its turn in every ten; critical waits for nobody", () => {
  const ready = readyWith([
    ...times(600, () => readyJob(HIGH, 0, "a x")),
    ...times(30, () => readyJob(LOW, 60_000, "b x")),
  ]);
  const taken = times(210, (i) => {
    if (i === 100) ready.add(readyJob(CRITICAL, 90_000, "c x"));
    return take(ready) as HeldJob;
  });
  assert.equal(taken[100]?.job.queue, CRITICAL);
  assert.equal(taken.filter(({ job }) => job.queue === LOW).length, 30);
  assert.equal(take(ready, true), null, "no slot but a critical one is free");
});

test("tenants take turns for connections that are to be opened", () => {
  const jobs = times(30, (i) => readyJob(NORMAL, 500, `tenant-${i % 3} x`));
  const ready = readyWith([
    ...jobs.filter((_, i) => i % 3 === 0),
    ...jobs.filter((_, i) => i % 3 > 0),
  ]);
  const first = times(6, () => take(ready) as HeldJob).map(({ connection }) => connection);
  assert.deepEqual(
    first.map((connection) => first.filter((other) => other === connection).length),
    [2, 2, 2, 2, 2, 2],
  );
});

test("the next call of a connection goes where the last one has just ended, in a later second too, but not for ever", () => {
  const ready = readyWith([
    ...times(100, () => readyJob(NORMAL, 999, "a x")),
    ...times(100, () => readyJob(NORMAL, 0, "b x")),
    ...times(40, (i) => readyJob(NORMAL, 1_000, i % 2 === 0 ? "a x" : "c x")),
  ]);
  assert.equal(take(ready)?.connection, "a x");
  assert.equal(take(ready)?.connection, "b x");
  ready.noteIdle("b x");
  const inARow: string[] = [];
  for (let job = take(ready); job !== null; job = take(ready)) {
    inARow.push(job.connection);
    if (inARow.length > 198) assert.equal(job.job.runAtMs, 1_000);
    ready.noteIdle(job.connection);
  }
  assert.equal(inARow.length, 238);
  const runs = inARow.filter((connection, i) => connection !== inARow[i - 1]).length;
  assert.ok(runs >= 20 && runs <= 60, `${runs}`);
  assert.ok(inARow.slice(0, 9).includes("a x"), "others have their turn");
});

test("a tenant that is passed over keeps its place, and nobody else waits behind it", () => {
  const ready = readyWith([
    ...times(50, (i) => readyJob(CRITICAL, 1_000 * i, "a x")),
    ...times(50, (i) => readyJob(NORMAL, 1_000 * i, `a origin-${i}`)),
    readyJob(NORMAL, 90_000, "b x"),
    readyJob(LOW, 95_000, "c x"),
    readyJob(NORMAL, 99_000, "b y"),
  ]);
  assert.equal(take(ready, true, ["a"]), null);
  const others = times(3, () => take(ready, false, ["a"]) as HeldJob);
  assert.deepEqual(
    new Set(others.map(({ connection }) => connection)),
    new Set(["b x", "c x", "b y"]),
  );
  assert.equal(take(ready, false, ["a"]), null);
  for (const queue of [CRITICAL, NORMAL])
    for (let i = 0; i < 50; i++) {
      const { job } = take(ready) as HeldJob;
      assert.deepEqual([job.queue, job.runAtMs], [queue, 1_000 * i]);
    }
  assert.equal(take(ready), null);
});

/** So many of the jobs can be reached by somebody else than the test; it keeps none. */
async function countReached(refs: readonly WeakRef<HeldJob>[]): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await new Promise(setImmediate);
  collect();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}

test("jobs that come and go while no slot is free are not remembered, wherever they call and whenever they are due", async () => {
  const KEPT = 100;
  for (const [name, at, secondOf, connectionOf] of [
    ["one connection", 0, () => 0, () => "a x"],
    ["a connection each", 0, () => 0, (i: number) => `a ${i}`],
    ["a second each", 0, (i: number) => i, () => "a x"],
    ["both, the first of them last", KEPT - 1, (i: number) => -i, (i: number) => `a ${i}`],
  ] as const) {
    const ready = new ReadyJobs();
    const refs: WeakRef<HeldJob>[] = [];
    const open: HeldJob[] = [];
    for (let i = 0; i < 5_000; i++) {
      const job = readyJob(NORMAL, 1_000 * secondOf(i), connectionOf(i));
      refs.push(new WeakRef(job));
      ready.add(job);
      open.push(job);
      const [gone] = open.length > KEPT ? open.splice(at, 1) : [];
      if (gone === undefined) continue;
      gone.phase = "gone";
      ready.drop(gone);
    }
    const reached = await countReached(refs);
    assert.ok(reached <= 2 * KEPT, `${name}: ${reached} for ${open.length}`);
    assert.equal(ready.size, open.length);
  }
});

test("jobs that were taken are not remembered while others of their second and connection wait", async () => {
  const ready = readyWith(times(100, () => readyJob(NORMAL, 0, "a x")));
  const refs: WeakRef<HeldJob>[] = [];
  for (let i = 0; i < 5_000; i++) {
    const job = readyJob(NORMAL, 0, "a x");
    refs.push(new WeakRef(job));
    ready.add(job);
    take(ready);
  }
  assert.ok((await countReached(refs)) <= 200);
  assert.equal(ready.size, 100);
});

test("what goes back leaves the others their order, and nobody's turn is lost", () => {
  const ready = new ReadyJobs();
  const jobs = times(400, (i) => readyJob(NORMAL, 500, `tenant-${i % 4} x`));
  for (const job of jobs) ready.add(job);
  assert.deepEqual([take(ready), take(ready)], [jobs[0], jobs[1]]);
  const gone = jobs.filter((_, i) => i % 4 === 3 || (i > 40 && i < 360));
  for (const job of gone) {
    job.phase = "gone";
    ready.drop(job);
  }
  const left = jobs.slice(2).filter((job) => !gone.includes(job));
  const turns = [2, 0, 1].flatMap((n) => [
    left.filter(({ connection }) => connection === `tenant-${n} x`),
  ]);
  for (let i = 0; i < left.length; i++) assert.equal(take(ready), turns[i % 3]?.shift(), `${i}`);
  assert.equal(take(ready), null);
});

test("whatever comes, goes and is taken back: each job is taken once, by queue the earlier second first", () => {
  const step = fc.record({
    queue: fc.constantFrom(CRITICAL, HIGH, HIGH + 1, NORMAL + 5, LOW),
    second: fc.nat(3),
    connection: fc.constantFrom("a x", "b x", "c y"),
    act: fc.constantFrom("take", "drop", "idle", "none"),
    passedOver: fc.subarray(["a", "b", "c"]),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const ready = new ReadyJobs();
      const open = new Set<HeldJob>();
      const takeOne = (passedOver: readonly string[] = []) => {
        const job = take(ready, false, passedOver);
        const wanted = [...open].filter((one) => !passedOver.includes(one.job.tenantId));
        assert.equal(job === null, wanted.length === 0, "work-conserving");
        if (job === null) return false;
        assert(wanted.includes(job), "of nobody who is passed over");
        const before = [...open].slice(0, [...open].indexOf(job));
        assert(open.delete(job), "once, and never what was taken back");
        for (const other of wanted)
          if (other.job.queue === job.job.queue)
            assert(Math.floor(other.job.runAtMs / 1_000) >= Math.floor(job.job.runAtMs / 1_000));
        const isAlike = ({ job: { queue, runAtMs }, connection }: HeldJob) =>
          queue === job.job.queue &&
          Math.floor(runAtMs / 1_000) === Math.floor(job.job.runAtMs / 1_000) &&
          connection === job.connection;
        assert(!before.some(isAlike), "in one connection as they came");
        return true;
      };
      for (const [i, { queue, second, connection, act, passedOver }] of steps.entries()) {
        const job = readyJob(queue, second * 1_000 + (i % 1_000), connection);
        ready.add(job);
        open.add(job);
        if (act === "take") takeOne(passedOver);
        if (act === "idle") ready.noteIdle(connection);
        if (act === "drop") {
          for (const some of [...open].slice(i % 2, 1 + second * 9)) {
            some.phase = "gone";
            ready.drop(some);
            open.delete(some);
          }
        }
      }
      while (takeOne());
    }),
  );
});
