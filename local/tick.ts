/**
 * EventBridge on one machine: `node local/tick.ts reconciler|archiver` invokes that function's handler at once, then at every full
 * minute, each time with a Lambda's context and whether the last run has ended or not. Environment: the function's env.ts.
 */
import { describeError } from "#core/domain/describe-error.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { makeContext } from "./gateway-event.ts";

const MINUTE_MS = 60_000;

type Handler = (event: unknown, context: ReturnType<typeof makeContext>) => Promise<void>;

/** What runs on a schedule, and how long an invocation may take: as infra has it. */
const FUNCTIONS: Readonly<Record<string, { load: () => Promise<Handler>; timeoutMs: number }>> = {
  reconciler: {
    load: async () => (await import("#functions/reconciler/handler.ts")).handler,
    timeoutMs: 90_000,
  },
  archiver: {
    load: async () => (await import("#functions/archiver/handler.ts")).handler,
    timeoutMs: 120_000,
  },
};

async function invoke(name: string, handler: Handler, timeoutMs: number): Promise<void> {
  try {
    await handler({}, makeContext(name, performance.now() + timeoutMs));
  } catch (error) {
    // As in AWS: an invocation that failed is in the log, and the next one comes at its time.
    console.error(`${name}: run failed:`, describeError(error));
  }
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
  const handler = await scheduled.load();
  console.log(`${name}: a run now, then one every minute`);
  const tick = () => {
    void invoke(name, handler, scheduled.timeoutMs);
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
