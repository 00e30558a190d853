import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { TenantId } from "./ids.ts";
import {
  jobIdFromBytes,
  jobIdToBytes,
  makeJobId,
  makeTaskId,
  makeWorkerId,
  parseJobId,
  parseTaskId,
  parseTenantId,
  partitionOfJob,
  partitionOfTask,
  partitionOfTenant,
  partsOfJobId,
  RUN_MAX,
  RUN_OF_OCCURRENCE,
  randomRun,
  taskIdFromBytes,
  taskIdToBytes,
} from "./ids.ts";

const instant = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const part = fc.nat({ max: 4_095 });
const run = fc.nat({ max: RUN_MAX });
const random = fc.uint8Array({ minLength: 8, maxLength: 8 });
const taskId = fc.tuple(instant, part, random).map((args) => makeTaskId(...args));

describe("task ids", () => {
  test("a task id is a UUIDv7 that carries its time and its partition", () => {
    fc.assert(
      fc.property(instant, part, random, (ms, partition, bytes) => {
        const id = makeTaskId(ms, partition, bytes);
        assert.match(id, /^task_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
        assert.equal(partitionOfTask(id), partition);
        const raw = taskIdToBytes(id);
        assert.equal((raw[6] ?? 0) >>> 4, 7, "version");
        assert.equal((raw[8] ?? 0) >>> 6, 2, "variant");
        assert.equal(Buffer.from(raw).readUIntBE(0, 6), ms);
        assert.deepEqual(raw.subarray(9), bytes.subarray(1));
        assert.equal(taskIdFromBytes(raw), id);
        assert.equal(parseTaskId(id), id);
      }),
    );
  });

  test("later tasks have greater ids, as text and as bytes", () => {
    fc.assert(
      fc.property(instant, instant, part, random, random, (a, b, partition, one, two) => {
        fc.pre(a < b);
        assert(makeTaskId(a, partition, one) < makeTaskId(b, partition, two));
      }),
    );
  });

  test("wrong arguments are our own mistakes", () => {
    const eight = new Uint8Array(8);
    for (const ms of [-1, 1.5, 2 ** 48, Number.NaN]) {
      assert.throws(() => makeTaskId(ms, 0, eight), /indicates a bug/);
    }
    for (const partition of [-1, 4_096, 0.5]) {
      assert.throws(() => makeTaskId(0, partition, eight), /indicates a bug/);
    }
    assert.throws(() => makeTaskId(0, 0, new Uint8Array(7)), /indicates a bug/);
    assert.throws(() => taskIdFromBytes(new Uint8Array(24)), /indicates a bug/);
  });

  test("text that is no task id of ours is refused", () => {
    const id = makeTaskId(1, 2, new Uint8Array(8));
    const others = [
      "",
      "task_",
      id.slice(5),
      `${id}0`,
      id.slice(0, -1),
      id.toUpperCase(),
      id.replace("task_", "job_"),
      `task_${"0".repeat(26)}`,
      `task_8${"0".repeat(25)}`,
      `task_${"u".repeat(26)}`,
      ` ${id}`,
    ];
    for (const other of others) assert.equal(parseTaskId(other), null, other);
    for (const [at, value] of [
      [6, 0x40],
      [8, 0x40],
    ] as const) {
      const bytes = taskIdToBytes(id);
      bytes[at] = value;
      const other = taskIdFromBytes(bytes);
      assert.equal(parseTaskId(other), null, "another version or variant of UUID");
    }
  });
});

describe("job ids", () => {
  test("a job id says its instant, its task and its run, and is the same for the same three", () => {
    fc.assert(
      fc.property(instant, taskId, run, (scheduledAtMs, id, number) => {
        const jobId = makeJobId(scheduledAtMs, id, number);
        assert.match(jobId, /^job_[0-3][0-9a-hjkmnp-tv-z]{38}$/);
        assert.deepEqual(partsOfJobId(jobId), { scheduledAtMs, taskId: id, run: number });
        assert.equal(partitionOfJob(jobId), partitionOfTask(id));
        assert.equal(jobIdFromBytes(jobIdToBytes(jobId)), jobId);
        assert.equal(parseJobId(jobId), jobId);
        assert.equal(makeJobId(scheduledAtMs, id, number), jobId);
      }),
    );
  });

  test("job ids sort by time, then task, then run, as text and as bytes", () => {
    const one = fc.tuple(fc.nat({ max: 3 }), taskId, fc.nat({ max: 300 }));
    fc.assert(
      fc.property(one, one, ([aMs, aTask, aRun], [bMs, bTask, bRun]) => {
        const byParts = aMs - bMs || (aTask < bTask ? -1 : aTask > bTask ? 1 : 0) || aRun - bRun;
        const a = makeJobId(aMs, aTask, aRun);
        const b = makeJobId(bMs, bTask, bRun);
        assert.equal(Math.sign(byParts), a < b ? -1 : a > b ? 1 : 0);
        assert.equal(
          Math.sign(byParts),
          Math.sign(Buffer.compare(jobIdToBytes(a), jobIdToBytes(b))),
        );
      }),
    );
  });

  test("text that is no job id of ours is refused", () => {
    const id = makeJobId(1, makeTaskId(1, 2, new Uint8Array(8)), 0);
    const others = ["", "job_", id.slice(4), `${id}0`, id.slice(0, -1), id.toUpperCase()];
    for (const other of [...others, `job_${"0".repeat(39)}`, `job_4${id.slice(5)}`]) {
      assert.equal(parseJobId(other), null, other);
    }
    assert.throws(() => makeJobId(1, makeTaskId(1, 2, new Uint8Array(8)), RUN_MAX + 1));
    assert.throws(() => makeJobId(1, makeTaskId(1, 2, new Uint8Array(8)), -1));
  });

  test("a random run is never the occurrence's own, and reaches every other number", () => {
    assert.equal(randomRun(Uint8Array.of(0, 0)), 1);
    assert.equal(randomRun(Uint8Array.of(0, 1)), 1);
    assert.equal(randomRun(Uint8Array.of(1, 0)), 256);
    assert.equal(randomRun(Uint8Array.of(255, 255)), RUN_MAX);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 2, maxLength: 2 }), (bytes) => {
        const number = randomRun(bytes);
        assert(number !== RUN_OF_OCCURRENCE && number <= RUN_MAX);
      }),
    );
  });
});

describe("tenants, partitions, workers", () => {
  test("a tenant's partition is FNV-1a of its id, modulo 4,096", () => {
    // Published 32-bit FNV-1a values: "" 811c9dc5, "a" e40c292c, "foobar" bf9cf968.
    const known = { a: 0xe40c292c, foobar: 0xbf9cf968 };
    for (const [id, hash] of Object.entries(known)) {
      assert.equal(partitionOfTenant(id as TenantId), hash % 4_096);
    }
    assert.throws(() => partitionOfTenant("é" as TenantId), /indicates a bug/);
  });

  test("tenants spread over the partitions", () => {
    const counts = new Map<number, number>();
    for (let i = 0; i < 40_960; i++) {
      const partition = partitionOfTenant(`tenant-${i}` as TenantId);
      assert(partition >= 0 && partition < 4_096);
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    assert(counts.size > 4_000, `${counts.size} partitions have tenants`);
    assert(Math.max(...counts.values()) < 40, "none has four times its share");
  });

  test("tenant ids: lower-case letters, digits, - and _, 1 to 64, not beginning with a sign", () => {
    for (const id of ["a", "0", "demo", "a-b_c", "a".repeat(64)]) {
      assert.equal(parseTenantId(id), id);
    }
    for (const id of ["", "A", "-a", "_a", "a.b", "a b", "é", "a\n", "a".repeat(65)]) {
      assert.equal(parseTenantId(id), null, JSON.stringify(id));
    }
  });

  test("a worker id is 32 hex digits of its bytes", () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, i) => i * 17);
    assert.equal(makeWorkerId(bytes), "00112233445566778899aabbccddeeff");
    assert.throws(() => makeWorkerId(new Uint8Array(15)), /indicates a bug/);
  });
});
