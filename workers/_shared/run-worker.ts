/**
 * The life of a worker process: read the configuration, run until SIGTERM or SIGINT, drain, exit. A worker gets a signal to stop
 * on and returns its exit code; this file owns signals, exit codes and the deadline on leaving.
 */

import { emfLines } from "#adapters/aws/emf-lines.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { watchEventLoop } from "#adapters/system/event-loop.ts";
import { type LogLevel, openLogger, type ProcessLogger } from "#adapters/system/logger.ts";
import { type MetricsInMemory, openMetrics } from "#adapters/system/metrics.ts";
import { systemRandom } from "#adapters/system/random.ts";
import { type EnvDeclaration, type EnvValues, readEnv } from "#adapters/system/read-env.ts";
import { describeError } from "#core/domain/describe-error.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { DRAIN_TOTAL_MS } from "#core/domain/limits.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { MetricService } from "#core/ports/metrics.ts";
import { Health } from "./health.ts";
import { serveStatus } from "./serve-status.ts";

const METRICS_EVERY_MS = 60_000;

export interface WorkerContext<D extends EnvDeclaration> {
  readonly env: EnvValues<D>;
  readonly clock: typeof systemClock;
  readonly random: typeof systemRandom;
  readonly metrics: MetricsInMemory;
  readonly logger: Logger;
  readonly health: Health;
  /** Aborted when the process is told to stop. */
  readonly stop: AbortSignal;
}

/** Runs `main` as this process's only job. Never returns. */
export async function runWorker<const D extends EnvDeclaration>(
  name: MetricService,
  declaration: D,
  main: (context: WorkerContext<D>) => Promise<number>,
): Promise<never> {
  const env = readConfiguration(name, declaration);
  const { LOG_LEVEL, METRICS_PORT = 0 } = env as { LOG_LEVEL: LogLevel; METRICS_PORT?: number };
  const logger = openLogger({ service: name, level: LOG_LEVEL });
  const metrics = openMetrics(name);
  const loopDelay = watchEventLoop();
  metrics.onRead(() => metrics.gauge("event_loop_delay", loopDelay.longestSeconds()));
  const health = new Health({ clock: systemClock, service: name, pid: process.pid });
  if (METRICS_PORT > 0)
    serveStatus(METRICS_PORT, { metrics, report: () => health.report(), logger });
  const stopping = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => {
      if (stopping.signal.aborted) return;
      logger.info("stopping", { signal });
      health.drain();
      stopping.abort();
      // Whatever hangs, the process is gone before the platform kills it.
      setTimeout(() => process.exit(1), DRAIN_TOTAL_MS).unref();
    });
  // Node would print it as it is, message and all.
  process.on("uncaughtException", (error) => fail(logger, error));
  const said = setInterval(() => sayMetrics(logger, metrics), METRICS_EVERY_MS);
  try {
    const context = { env, clock: systemClock, random: systemRandom, metrics, logger, health };
    const code = await main({ ...context, stop: stopping.signal });
    sayMetrics(logger, metrics);
    logger.info("stopped", { status: code });
    process.exit(code);
  } catch (error) {
    if (error instanceof ConfigurationInvalid) refuse(name, error);
    // A bug, or configuration that cannot work: stop here; the platform starts a fresh process and others take the jobs.
    fail(logger, error);
  } finally {
    clearInterval(said);
  }
}

function readConfiguration<const D extends EnvDeclaration>(
  name: string,
  declaration: D,
): EnvValues<D> {
  try {
    return readEnv(declaration, process.env, { ownPrefix: `${name.toUpperCase()}_` });
  } catch (error) {
    if (!(error instanceof ConfigurationInvalid)) throw error;
    return refuse(name, error);
  }
}

/** One line for whoever starts it; trying again cannot help. */
function refuse(name: string, { message }: ConfigurationInvalid): never {
  process.stderr.write(`${name}: ${message}\n`);
  process.exit(2);
}

function fail(logger: Logger, error: unknown): never {
  logger.error("worker failed: the platform starts another", describeError(error));
  process.exit(1);
}

/** What came since the last time: the numbers are in the log, and CloudWatch makes metrics of them. */
function sayMetrics(logger: ProcessLogger, metrics: MetricsInMemory): void {
  for (const line of emfLines(metrics.service, metrics.take(), systemClock.nowMs()))
    logger.metrics(line);
}
