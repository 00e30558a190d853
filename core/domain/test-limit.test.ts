import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { admitTest } from "./test-limit.ts";

const LIMIT = { callsMax: 3, windowMs: 1_000 };

test("in no span of the window more than its calls, and one is admitted as soon as it may be", () => {
  const gapsMs = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(gapsMs, (gaps) => {
      let recent: readonly number[] = [];
      const admitted: number[] = [];
      let nowMs = 1_780_000_000_000;
      for (const gap of gaps) {
        nowMs += gap;
        const within = admitted.filter((atMs) => atMs > nowMs - LIMIT.windowMs);
        const admission = admitTest(recent, nowMs, LIMIT);
        assert.equal(admission.kind, within.length < LIMIT.callsMax ? "admitted" : "limited");
        if (admission.kind === "admitted") {
          recent = admission.recent;
          admitted.push(nowMs);
          assert(recent.length <= LIMIT.callsMax);
          continue;
        }
        const againMs = nowMs + admission.retryAfterMs;
        assert.equal(admitTest(recent, againMs, LIMIT).kind, "admitted");
        assert.equal(admitTest(recent, againMs - 1, LIMIT).kind, "limited");
      }
    }),
  );
});

test("a clock that was set back blocks for two windows at most", () => {
  const nowMs = 1_780_000_000_000;
  const ahead = [1, 2, 3].map((n) => nowMs + 3_600_000 + n);
  assert.equal(admitTest(ahead, nowMs, LIMIT).kind, "admitted");
});
