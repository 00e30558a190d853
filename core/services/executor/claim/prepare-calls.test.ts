import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#test/support/manual-clock.ts";
import { DatabaseClock } from "../database-clock.ts";
import type { Claimed } from "../hold/held-job.ts";
import { CallPreparation } from "./prepare-calls.ts";

function claimed(tenantId: string, url: string, runAtMs: number): Claimed {
  const job = { tenantId, runAtMs };
  return { job, version: { request: { url } } } as unknown as Claimed;
}

test("of the tenants whose calls are early the keys, one connection for each of their origins, as many as there are slots", () => {
  const database = new DatabaseClock(new ManualClock());
  database.addSample(0, 0, 10_000);
  const prepared: string[] = [];
  const caller = {
    prepare: (tenant: string, url: string) => void prepared.push(`${tenant} ${url}`),
  };
  const opened: string[] = [];
  const keys = { prepare: async (tenant: string) => void opened.push(tenant) };
  const preparation = new CallPreparation(caller, keys, database, 3);
  preparation.prepare([
    claimed("a", "http://x.test/1", 10_800),
    claimed("a", "http://x.test/2", 10_900),
    claimed("a", "http://y.test/1", 10_900),
    claimed("b", "http://x.test/1", 9_000),
    claimed("c", "http://x.test/1", 10_040),
    claimed("d", "http://x.test", 10_060),
    claimed("e", "http://x.test/1", 10_900),
  ]);
  assert.deepEqual(opened, ["a", "d", "e"]);
  assert.deepEqual(prepared, ["a http://x.test/1", "a http://y.test/1", "d http://x.test"]);
});
