import assert from "node:assert/strict";
import { test } from "node:test";
import type { LimitKey } from "#core/domain/call-limit.ts";
import { isAdmitted, isFarAhead, isHeldIn, isNearBackstop } from "./goes-back.ts";
import type { HeldJob } from "./held-job.ts";

const A = "acme|https://a.example:443" as LimitKey;
const B = "acme|https://b.example:443" as LimitKey;
const PHASES = ["early", "limited", "ready", "preparing", "sending"] as const;

function phasesOf(goesBack: (held: HeldJob) => boolean, job: object): string[] {
  return PHASES.filter((phase) => goesBack({ phase, job } as unknown as HeldJob));
}

test("what goes back when the lease lapses: limited jobs that have been let go and not called", () => {
  assert.deepEqual(phasesOf(isAdmitted, { limitKey: A }), ["ready", "preparing"]);
  assert.deepEqual(phasesOf(isAdmitted, { limitKey: null }), []);
});

test("what goes back when others have all slots of a line: what is held back here of that line", () => {
  const goesBack = isHeldIn(new Set([A]));
  assert.deepEqual(phasesOf(goesBack, { limitKey: A }), ["early", "limited"]);
  assert.deepEqual(phasesOf(goesBack, { limitKey: B }), []);
  assert.deepEqual(phasesOf(goesBack, { limitKey: null }), []);
});

test("what goes back before its backstop: what waits, no sooner than it must", () => {
  const job = { limitKey: null, timeoutMs: 10_000, dueAtMs: 40_000 };
  assert.deepEqual(phasesOf(isNearBackstop(0), job), []);
  assert.deepEqual(phasesOf(isNearBackstop(29_999), job), ["limited", "ready"]);
});

test("what goes back when the database's clock was set back: what no claim would have taken yet", () => {
  const job = { limitKey: null, runAtMs: 100_000 };
  assert.deepEqual(phasesOf(isFarAhead(0), job), ["early"]);
  assert.deepEqual(phasesOf(isFarAhead(99_000), job), []);
});
