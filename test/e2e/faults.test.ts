/** Two faults of the fault matrix (`npm run faults`), shortened: the runner works, and the worst two of them hold. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type FaultDatabase, openFaultDatabase } from "#test/faults/database.ts";
import { mysqlKilled } from "#test/faults/faults/database.ts";
import { killExecutor } from "#test/faults/faults/deaths.ts";
import { cassandraOfRun } from "#test/faults/history.ts";
import { runFault } from "#test/faults/run-fault.ts";

/** What CI runs on may be busy: how long recovery takes is measured by the matrix, that it comes is tested here. */
const LIMITS = { recoveryMs: 30_000 };
const FAULTS = [killExecutor, mysqlKilled(8_000)].map((fault) => ({ ...fault, limits: LIMITS }));

describe("under load", { timeout: 240_000 }, () => {
  const stop = new AbortController();
  let database: FaultDatabase;

  before(async () => {
    database = await openFaultDatabase(() => {}, stop.signal);
  });
  after(async () => {
    stop.abort();
    await database[Symbol.asyncDispose]();
  });

  for (const fault of FAULTS)
    it(`${fault.breaks}: nothing lost, nothing twice`, async () => {
      const said: string[] = [];
      const say = (line: string) => void said.push(line);
      await using cassandra = cassandraOfRun(say, stop.signal);
      const run = { database, cassandra, seed: 1, say, signal: stop.signal, perSecond: 20 };
      const outcome = await runFault(fault, run);
      assert.deepEqual(outcome.failures, [], said.join("\n"));
      assert.ok(outcome.jobs > 100 && outcome.calls >= outcome.jobs, `${outcome.jobs} jobs`);
    });
});
