/**
 * Entry point of the reconciler: a Lambda function that EventBridge invokes every minute. A run makes a pass (reconcile-pass.ts) every two
 * seconds for a little more than a minute, so that runs overlap and a dead executor is noticed within seconds at any time, and measures
 * beside them what waits (watch-backlog.ts).
 */
import { systemClock } from "#adapters/system/clock.ts";
import { readEnv } from "#adapters/system/read-env.ts";
import { retentionOf } from "#adapters/system/retention-of.ts";
import { RECONCILE_RUN_MS } from "#core/domain/limits.ts";
import type { Shard } from "#core/ports/shards.ts";
import type { Pass } from "#core/services/reconciler/reconcile-pass.ts";
import { runPasses } from "#core/services/reconciler/run-passes.ts";
import { watchBacklog } from "#core/services/reconciler/watch-backlog.ts";
import { connectTick } from "../_shared/connect-tick.ts";
import { endOf, type Invocation, onEachShard } from "../_shared/on-each-shard.ts";
import { processEnv } from "../_shared/process-env.ts";
import { sayingMetrics } from "../_shared/say-metrics.ts";
import { reconcilerEnv } from "./env.ts";

/** A pass that has begun ends in this time. */
const PASS_LEFT_MS = 10_000;

const env = readEnv(reconcilerEnv, processEnv(), { ownPrefix: "ARCHIVE_" });
const clock = systemClock;
const { logger, metrics, shards } = await connectTick("reconciler", env);

export { metrics };

const retention = retentionOf(env);

/** By name of the shard. */
const awaySinceMs = new Map<string, number>();

/** What is wrong, for whoever asks where it is one process: on one machine. */
export function wrong(): string[] {
  return [...awaySinceMs].map(
    ([shard, sinceMs]) =>
      `the database of shard ${shard} is away since ${new Date(sinceMs).toISOString()}: no executor is fenced, no job given back and nothing measured meanwhile; looked again every 2 s`,
  );
}

export async function handler(_event: unknown, invocation: Invocation): Promise<void> {
  const endMs = Math.min(
    clock.monotonicMs() + RECONCILE_RUN_MS,
    endOf(invocation, clock, PASS_LEFT_MS),
  );
  await sayingMetrics({ clock, logger, metrics }, () =>
    onEachShard(shards, (shard) => watchShard(shard, endMs)),
  );
}

async function watchShard(shard: Shard, endMs: number): Promise<void> {
  const watched = watchBacklog({ shard, clock, logger, gauges: metrics }, endMs);
  const passes = runPasses({ shard, clock, logger, retention }, endMs, (pass) =>
    countPass(shard, pass),
  );
  const ended = await Promise.allSettled([passes, watched]);
  for (const each of ended) if (each.status === "rejected") throw each.reason;
}

function countPass({ name }: Shard, pass: Pass | null): void {
  if (pass === null) {
    if (!awaySinceMs.has(name)) awaySinceMs.set(name, clock.nowMs());
    metrics.count("passes_failed", 1);
    return;
  }
  awaySinceMs.delete(name);
  metrics.count("passes", 1);
  metrics.count("fenced", pass.fenced);
  metrics.count("rescued", pass.pending);
  metrics.count("dead", pass.dead);
  metrics.count("rescued_cancelled", pass.cancelled);
}
