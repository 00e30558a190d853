/**
 * EventBridge on one machine: `node local/tick.ts reconciler|archiver` invokes that function's handler at once, then at every full
 * minute, each time with a Lambda's context and whether the last run has ended or not. Environment: the function's env.ts.
 */
import { systemClock } from "#adapters/system/clock.ts";
import { openLogger } from "#adapters/system/logger.ts";
import type { MetricsInMemory } from "#adapters/system/metrics.ts";
import { describeError } from "#core/domain/describe-error.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { archiverTimeoutSeconds } from "#functions/archiver/env.ts";
import { reconcilerTimeoutSeconds } from "#functions/reconciler/env.ts";
import { Health } from "#workers/_shared/health.ts";
import { serveStatus } from "#workers/_shared/serve-status.ts";
import { makeContext } from "./gateway-event.ts";

const MINUTE_MS = 60_000;

type Entry = {
  handler: (event: unknown, context: ReturnType<typeof makeContext>) => Promise<void>;
  metrics: MetricsInMemory;
  wrong: () => string[];
};

/** What runs on a schedule, and how long an invocation may take. */
const FUNCTIONS: Readonly<Record<string, Scheduled>> = {
  reconciler: {
    load: () => import("#functions/reconciler/handler.ts"),
    timeoutMs: reconcilerTimeoutSeconds * 1_000,
    meanwhile: "jobs of dead executors are not given back; run again at the full minute",
  },
  archiver: {
    load: () => import("#functions/archiver/handler.ts"),
    timeoutMs: archiverTimeoutSeconds * 1_000,
    meanwhile: "finished jobs stay in MySQL; run again at the full minute",
  },
};
const RUN = "run";

type Scheduled = { load: () => Promise<Entry>; timeoutMs: number; meanwhile: string };

async function invoke(
  name: string,
  { handler }: Entry,
  timeoutMs: number,
  health: Health,
): Promise<void> {
  try {
    await handler({}, makeContext(name, performance.now() + timeoutMs));
    health.good(RUN);
  } catch (error) {
    health.failed(RUN, error);
    // As in AWS: an invocation that failed is in the log, and the next one comes at its time.
    console.error(`${name}: run failed:`, describeError(error));
  }
}

/** What a function does not do in AWS, where nobody could ask it: `/health` and `/metrics`, if METRICS_PORT is set. */
function watch({ metrics, wrong }: Entry, { timeoutMs, meanwhile }: Scheduled): Health {
  const { service } = metrics;
  const health = new Health({ clock: systemClock, service, pid: process.pid });
  health.look = () => ({ wrong: wrong(), figures: {} });
  health.watch({ name: RUN, meanwhile, stuckAfterMs: timeoutMs + MINUTE_MS });
  const port = Number(process.env.METRICS_PORT || 0);
  const logger = openLogger({ service, level: "info" });
  if (port > 0) serveStatus(port, { metrics, report: () => health.report(), logger });
  return health;
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

async function main(): Promise<void> {
  const [name = "", ...rest] = process.argv.slice(2);
  const scheduled = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (scheduled === undefined || rest.length > 0)
    fail(`usage: node local/tick.ts ${Object.keys(FUNCTIONS).join("|")}`);
  // A run may end anywhere, as a Lambda may: the next one goes on.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => process.exit(0));
  const entry = await scheduled.load();
  const health = watch(entry, scheduled);
  console.log(`${name}: a run now, then one every minute`);
  const tick = () => {
    void invoke(name, entry, scheduled.timeoutMs, health);
    setTimeout(tick, MINUTE_MS - (Date.now() % MINUTE_MS));
  };
  tick();
}

try {
  await main();
} catch (error) {
  // As the workers do: 2 says that trying again cannot help.
  if (error instanceof ConfigurationInvalid) fail(`${process.argv[2]}: ${error.message}`);
  throw error;
}
