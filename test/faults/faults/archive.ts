/** Cassandra gone, and the archiver killed at each of its steps. */

import type { FaultSpec } from "#test/support/proxy-faults.ts";
import type { Fault } from "../fault.ts";

const PROCESSES = { scheduler: 1, executor: 2, reconciler: 1, archiver: 1 } as const;
const AWAY_MS = 20_000;
const STEP_MS = 70_000;

export const cassandraKilled: Fault = {
  id: "F17",
  title: "Cassandra away",
  breaks: "Cassandra killed (SIGKILL) for 20 s while finished jobs are moved there",
  processes: PROCESSES,
  withHistory: true,
  limits: { recoveryMs: 0, criticalP99Ms: 1_000 },
  async inject({ history, sleep }) {
    const brokenAtMs = Date.now();
    await history?.kill();
    await sleep(AWAY_MS);
    await history?.restart();
    return { brokenAtMs, mendedAtMs: Date.now() };
  },
  check: async ({ database }) => {
    const [row] = await database.run("SELECT COUNT(*) AS n FROM jobs WHERE status = 'succeeded'");
    return Number(row?.n) < 2_000 ? [] : [`${row?.n} finished jobs are still in MySQL`];
  },
};

const STEPS: readonly Omit<FaultSpec, "kind">[] = [
  // Before a copy; between a copy and the look at what has changed; before a deletion; before a deletion's commit.
  { at: "SELECT v.task_id" },
  { at: "SELECT jobs.id", from: 2 },
  { at: "DELETE jobs" },
  { at: "COMMIT", inTransactionWith: "DELETE jobs" },
];

export const archiverKilled: Fault = {
  id: "F18",
  title: "archiver killed at each step",
  breaks:
    "SIGKILL before a copy, after it, before a deletion, before its commit, and in the middle",
  processes: PROCESSES,
  proxied: (kind) => kind === "archiver",
  withHistory: true,
  limits: { recoveryMs: 0, criticalP99Ms: 1_000 },
  async inject({ proxy, fleet, sleep }) {
    const brokenAtMs = Date.now();
    let name = fleet.names("archiver")[0] ?? "";
    for (const step of STEPS) {
      await fleet.kill(name);
      const hold = proxy.addFault({ kind: "hold", ...step });
      name = await fleet.start("archiver");
      await Promise.race([hold.happened, sleep(STEP_MS)]);
      if (hold.struck === 0) throw new Error(`the archiver never came to ${step.at}`);
    }
    for (let i = 0; i < 3; i++) {
      await fleet.kill(name);
      name = await fleet.start("archiver");
      await sleep(700);
    }
    return { brokenAtMs, mendedAtMs: Date.now(), notes: `killed ${STEPS.length + 3} times` };
  },
};
