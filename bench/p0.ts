/** p0: one job of each kind, on the real processes; each case is looked at in the database and in the sink. */
import { openShards } from "#adapters/mysql/shards.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { assert } from "#core/domain/assert.ts";
import { parseTenantId } from "#core/domain/ids.ts";
import { startWorker } from "#test/support/worker-process.ts";
import { edits } from "./p0/edits.ts";
import { endings } from "./p0/endings.ts";
import { type Check, Kit } from "./p0/kit.ts";
import { timing } from "./p0/timing.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { openBenchDatabases, startSink } from "./stack.ts";

const LOOK_EVERY_MS = 250;
const DEADLINE_MS = 60_000;
/** Stays as it was for this long after the last case was met: nothing comes twice, nothing comes after all. */
const QUIET_MS = 4_000;
const STARTED_MS = 15_000;
const RETENTION = { succeededMs: 3_600_000, endedMs: 14 * 86_400_000 };
const CASES = [...timing, ...endings, ...edits];

interface Standing {
  readonly name: string;
  readonly check: Check;
  /** What is still wrong; null when it holds. */
  wrong: string | null;
  heldAfterMs: number | null;
}

export const scenario: Scenario = {
  question: "does one job of each kind end as it should",
  takes: [],
  run: runP0,
};

async function runP0(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, signal } = context;
  await using databases = await openBenchDatabases("p0", context);
  await using sink = await startSink();
  await using scheduler = startWorker("scheduler", databases);
  await using executor = startWorker("executor", databases);
  for (const worker of [scheduler, executor]) await worker.line('"started"', STARTED_MS);
  const shards = openShards(databases);
  try {
    const tenantId = parseTenantId("p0");
    assert(tenantId !== null, "p0 is a tenant's id");
    const deps = { shards, clock: systemClock, random: systemRandom, retention: RETENTION };
    const kit = new Kit(deps, tenantId, sink.url, databases.run);
    say(`${CASES.length} cases`);
    const startMs = performance.now();
    const standings = await Promise.all(CASES.map((one) => begin(kit, one)));
    const look = async () => {
      kit.see(await sink.calls());
      for (const standing of standings) await lookAt(standing, performance.now() - startMs);
      return standings.filter(({ wrong }) => wrong !== null).length;
    };
    let open = await look();
    while (open > 0 && performance.now() - startMs < DEADLINE_MS) {
      signal.throwIfAborted();
      await systemClock.sleep(LOOK_EVERY_MS, signal);
      open = await look();
    }
    say(open === 0 ? "all hold; looking again after a while" : `${open} do not hold`);
    await systemClock.sleep(QUIET_MS, signal);
    signal.throwIfAborted();
    await look();
    return judge(standings, (await sink.totals()).duplicates);
  } finally {
    await shards.close();
  }
}

async function begin(kit: Kit, { name, start }: (typeof CASES)[number]): Promise<Standing> {
  return { name, check: await start(kit), wrong: "not looked at", heldAfterMs: null };
}

async function lookAt(standing: Standing, afterMs: number): Promise<void> {
  try {
    await standing.check();
    standing.wrong = null;
    standing.heldAfterMs ??= afterMs;
  } catch (error) {
    standing.wrong = (error as Error).message.replaceAll(/\s+/g, " ").slice(0, 200);
  }
}

function judge(standings: readonly Standing[], duplicates: number): ScenarioOutcome {
  const failed = standings.filter(({ wrong }) => wrong !== null);
  const seconds = (ms: number | null) => (ms === null ? "" : `${(ms / 1_000).toFixed(1)} s`);
  return {
    pass: failed.length === 0 && duplicates === 0,
    figures: {
      cases: standings.length,
      passed: standings.length - failed.length,
      failed: failed.map(({ name }) => name),
      duplicates,
    },
    table: [
      ["case", "after", "result"],
      ...standings.map(({ name, wrong, heldAfterMs }) => [
        name,
        seconds(heldAfterMs),
        wrong ?? "ok",
      ]),
    ],
  };
}
