/** What runs in each process: the services with the loops that production has, over ports of the simulation. */
import type { MemoryTables } from "#adapters/memory/memory-tables.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import { RECONCILE_RUN_MS } from "#core/domain/limits.ts";
import { Secret } from "#core/domain/secret.ts";
import type { Caller } from "#core/ports/caller.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Metrics } from "#core/ports/metrics.ts";
import type { Opener, Sealer } from "#core/ports/secrets.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import { runArchiver } from "#core/services/archiver/run-archiver.ts";
import { Executor } from "#core/services/executor/executor.ts";
import { runPasses } from "#core/services/reconciler/run-passes.ts";
import { Scheduler } from "#core/services/scheduler/scheduler.ts";
import { runLoop } from "#workers/_shared/run-loop.ts";
import { runExecutor } from "#workers/executor/run-executor.ts";
import type { Ledger } from "./ledger.ts";
import type { Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { EPOCH_MS, type SimClock } from "./sim-process.ts";
import { readHistoryOf, readJob } from "./sim-reader.ts";
import { askOnce, type Known, TENANTS } from "./sim-users.ts";

export type Kind = "executor" | "scheduler" | "reconciler" | "archiver" | "user" | "reader";

export interface ProcessDeps {
  readonly shards: Shards;
  readonly shard: Shard;
  readonly history: HistoryStore;
  readonly caller: Caller;
  readonly clock: SimClock;
  readonly random: SeededRandom;
  /** SIGTERM. */
  readonly stop: AbortSignal;
  readonly scenario: Scenario;
  readonly ledger: Ledger;
  readonly known: Known;
  readonly present: (taskId: TaskId) => Iterable<JobId>;
  /** True time. */
  readonly nowMs: () => number;
  readonly isHealed: () => boolean;
}

export const SILENT: Logger = { info() {}, warn() {}, error() {} };
const UNMEASURED: Metrics = { count() {}, observeLagMs() {} };
const ARCHIVE_RUN_MS = 20_000;

/** Keeps secrets as they are: who can read them is tried elsewhere. */
const OPEN_VAULT: Sealer & Opener = {
  seal: async (_place, text) => new TextEncoder().encode(text.reveal()),
  fingerprint: async () => "0".repeat(64),
  open: async (_place, sealed) => new Secret(new TextDecoder().decode(sealed)),
};

export const MAINS: Record<Kind, (deps: ProcessDeps) => Promise<unknown>> = {
  executor: runExecutorProcess,
  scheduler: runSchedulerProcess,
  reconciler: runReconcilerProcess,
  archiver: runArchiverProcess,
  user: runUserProcess,
  reader: runReaderProcess,
};

function runExecutorProcess(deps: ProcessDeps): Promise<unknown> {
  const { shard, caller, clock, random, scenario, stop } = deps;
  const executor = new Executor({
    ...{ shard, caller, clock, random },
    vault: OPEN_VAULT,
    signer: { sign: () => "" },
    digest: { sha256Hex: () => "" },
    metrics: UNMEASURED,
    logger: SILENT,
    retention: scenario.retention,
    slots: scenario.slots,
  });
  return runExecutor(executor, { clock, random, logger: SILENT }, stop);
}

function runSchedulerProcess({ shard, clock, random, scenario, stop }: ProcessDeps) {
  const { retention } = scenario;
  const scheduler = new Scheduler({ tasks: shard.tasks, metrics: UNMEASURED, clock, retention });
  const loop = {
    name: "scheduler tick",
    step: () => scheduler.tickOnce(),
    backoffMs: { first: 200, max: 5_000 },
  };
  return runLoop({ clock, random, logger: SILENT }, loop, stop);
}

async function runReconcilerProcess(deps: ProcessDeps): Promise<void> {
  const { shard, clock, scenario, stop } = deps;
  const { retention } = scenario;
  while (!stop.aborted)
    await runPasses(
      { shard, clock, logger: SILENT, retention },
      clock.monotonicMs() + RECONCILE_RUN_MS,
    );
}

async function runArchiverProcess(deps: ProcessDeps): Promise<void> {
  const { shard, history, clock, random, scenario, stop } = deps;
  const { retention } = scenario;
  const sha256 = () => "";
  while (!stop.aborted) {
    const endMs = clock.monotonicMs() + ARCHIVE_RUN_MS;
    await runArchiver({ shard, history, clock, random, retention, logger: SILENT, sha256 }, endMs);
    await clock.sleep(random.between(2_000, 6_000), stop);
  }
}

async function runUserProcess(deps: ProcessDeps): Promise<void> {
  const { shards, history, clock, random, scenario, known, isHealed } = deps;
  const { retention } = scenario;
  const user = { shards, history, clock, random, retention, logger: SILENT };
  const patienceMs = random.pick([600, 1_500, 4_000]);
  while (!isHealed()) {
    await clock.sleep(patienceMs * 2 * random.unit());
    await askOnce(user, known, scenario);
  }
  await new Promise<void>(() => {});
}

async function runReaderProcess(deps: ProcessDeps): Promise<void> {
  const { clock, random, known, present, isHealed } = deps;
  const reader = { ...deps, logger: SILENT };
  while (!isHealed()) {
    await clock.sleep(random.between(3_000, 12_000));
    if (known.tasks.length === 0) continue;
    const { id, tenantId } = random.pick(known.tasks);
    if (random.chance(0.5)) await readHistoryOf(reader, tenantId, id, random.between(3, 12));
    const jobs = [...present(id)];
    if (jobs.length > 0) await readJob(reader, tenantId, id, random.pick(jobs));
  }
  await new Promise<void>(() => {});
}

/** Every tenant has its key to sign with, so that no run begins with making one. */
export function seedSigningSecrets(tables: MemoryTables): void {
  const sealed = new TextEncoder().encode("whsec_c2ltdWxhdGlvbg==");
  for (const tenantId of TENANTS) {
    const key = { id: "0".repeat(16), fingerprint: "0".repeat(64), sealed };
    tables.signingSecrets.set(tenantId, [{ ...key, createdAtMs: EPOCH_MS, expiresAtMs: null }]);
  }
}
