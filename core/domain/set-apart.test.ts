import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type JobId, makeJobId, makeTaskId } from "./ids.ts";
import { APART_STEP_MS, apartMs } from "./set-apart.ts";

const RANDOM = fc.uint8Array({ minLength: 8, maxLength: 8 });
const idOf = (random: Uint8Array): JobId => makeJobId(0, makeTaskId(0, 7, random), 0);

test("a lost first attempt is delayed by nothing, later ones each by itself, by at most 15.3 s", () => {
  fc.assert(
    fc.property(RANDOM, fc.integer({ min: 0, max: 50 }), (random, attempt) => {
      const ms = apartMs({ id: idOf(random), attempt });
      const step = (random[7] ?? 0) * APART_STEP_MS;
      assert.equal(ms, step * Math.max(0, Math.min(3, attempt - 1)));
      assert.ok(ms <= 15_300);
    }),
  );
});

test("jobs that were lost together are spread evenly", () => {
  const ids = Array.from({ length: 256 }, (_, i) => idOf(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, i)));
  const delays = new Set(ids.map((id) => apartMs({ id, attempt: 2 })));
  assert.equal(delays.size, 256);
});
