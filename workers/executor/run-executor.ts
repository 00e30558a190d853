/** Paces an executor's steps in loops, and drains it on the way out. */
import { OperatingError } from "#core/domain/errors.ts";
import { DRAIN_CALLS_MS, DRAIN_TOTAL_MS, RENEW_RETRY_MS } from "#core/domain/limits.ts";
import type { Gauges } from "#core/ports/metrics.ts";
import type { Executor } from "#core/services/executor/executor.ts";
import type { Health } from "../_shared/health.ts";
import { type LoopDeps, runLoop, Wake } from "../_shared/run-loop.ts";

/** Results that end within this of each other are written in one group. */
const GROUP_MS = 3;
/** After a group of so many: larger ones cost MySQL less a job (51 µs in groups of 60, 35 of 400, measured; of a few, a COMMIT is dearer than their rows). */
const BUSY_GROUP = 10;
const BUSY_GROUP_MS = 20;
/** While more critical jobs wait than there are slots: their calls need what writing takes. */
const PRESSED_GROUP_MS = 60;
const IDLE_MS = 60_000;
const DRAIN_LOOK_MS = 20;
/** Left for closing connections before the process is killed. */
const FLUSH_DEADLINE_MS = DRAIN_TOTAL_MS - 2_000;

/** Names of the loops, and what it means while one of them fails. */
const RENEWING = "lease renewal";
const WRITING = "writing results";
const WRITING_AGAIN = {
  results: "writing results again",
  givenBack: "giving back again",
} as const;
const POLLING = "polling";
const STUCK_AFTER_MS = 15_000;
const MEANWHILE = {
  [RENEWING]:
    "no call starts from 5 s after the last good renewal on, and the reconciler gives the jobs to others; renewed every 0.2 s",
  [WRITING]:
    "results wait in memory and are written when the database is back; from 20,000 on nothing is claimed",
  again:
    "these wait in memory and are written when the database takes them, all others beside them; from 20,000 on nothing is claimed",
  [POLLING]: "no job is claimed, and no call starts from 5 s after the last good poll on",
};

/** Runs until `stop`, then drains. False when something could not be written before the deadline: others rescue those jobs. */
export async function runExecutor(
  executor: Executor,
  deps: LoopDeps,
  stop: AbortSignal,
): Promise<boolean> {
  const results = new Wake();
  const room = new Wake();
  executor.onUnwritten = results.set;
  executor.onRoom = room.set;
  const emptied = new AbortController();
  const renewing = runLoop(
    deps,
    {
      name: RENEWING,
      meanwhile: MEANWHILE[RENEWING],
      stuckAfterMs: STUCK_AFTER_MS,
      step: () => executor.renewOnce(),
      backoffMs: { first: RENEW_RETRY_MS, max: RENEW_RETRY_MS },
    },
    emptied.signal,
  );
  const writing = runLoop(
    deps,
    {
      name: WRITING,
      meanwhile: MEANWHILE[WRITING],
      step: resultsWriter(executor, deps),
      backoffMs: { first: 100, max: 1_000 },
    },
    emptied.signal,
    results,
  );
  const again = writeFailed(executor, deps, emptied.signal);
  const polling = runLoop(
    deps,
    {
      name: POLLING,
      meanwhile: MEANWHILE[POLLING],
      stuckAfterMs: STUCK_AFTER_MS,
      step: () => poll(executor),
      backoffMs: { first: 200, max: 2_000 },
    },
    stop,
    room,
  );
  let stoppedMs = deps.clock.monotonicMs();
  const beginDrain = () => {
    stoppedMs = deps.clock.monotonicMs();
    executor.beginDrain();
  };
  stop.addEventListener("abort", beginDrain, { once: true });
  const drained = polling
    .then(() => drain(executor, deps, stoppedMs))
    .finally(() => emptied.abort());
  const [clean] = await Promise.all([drained, renewing, writing, again]);
  return clean;
}

/**
 * Waits for calls under way, then for the last write; the time for both began at `stoppedMs`. The lease is renewed and results are written
 * all the while.
 */
async function drain(
  executor: Executor,
  { clock, logger }: LoopDeps,
  stoppedMs: number,
): Promise<boolean> {
  const endMs = stoppedMs + FLUSH_DEADLINE_MS;
  await executor.awaitCalls(stoppedMs + DRAIN_CALLS_MS);
  while (!executor.isEmpty && clock.monotonicMs() < endMs) {
    await waitedOut(() => executor.settle());
    await clock.sleep(DRAIN_LOOK_MS);
  }
  if (!executor.isEmpty) {
    const { unwritten } = executor.load;
    logger.error("results not written in time; the reconciler gives these jobs back", {
      waiting: unwritten,
    });
    return false;
  }
  await waitedOut(() => executor.leave());
  return true;
}

/** Runs a step on the way out, where the database being away is only a reason to try again or to do without. */
async function waitedOut(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof OperatingError)) throw error;
  }
}

/** What an executor says of itself beside how its loops do. */
export function executorLook(
  executor: Pick<Executor, "load" | "mayStart">,
): ReturnType<Health["look"]> {
  const { held, sending, unwritten } = executor.load;
  const wrong = executor.mayStart
    ? []
    : [
        "no call starts: the lease, or the last poll, is older than 5 s; calls go on with the next good renewal and poll",
      ];
  return { wrong, figures: { held, sending, outboxWaiting: unwritten } };
}

/** Reads the levels of an executor for its metrics. */
export function readExecutor(
  executor: Pick<Executor, "load">,
  health: Health,
  gauges: Gauges,
): void {
  const { held, sending, unwritten } = executor.load;
  gauges.gauge("held", held);
  gauges.gauge("sending", sending);
  gauges.gauge("outbox_waiting", unwritten);
  gauges.gauge("poll_age", Math.round(health.sinceGoodMs(POLLING)) / 1_000);
}

async function poll(executor: Executor): Promise<number> {
  const polled = await executor.pollOnce();
  return polled.full && executor.hasRoom() ? 0 : polled.nextPollMs;
}

function resultsWriter(executor: Executor, { clock }: LoopDeps): () => Promise<number> {
  let groupMs = GROUP_MS;
  return async () => {
    if (executor.fresh === 0) return IDLE_MS;
    await clock.sleep(executor.pressed ? PRESSED_GROUP_MS : groupMs);
    groupMs = (await executor.flushOnce()) >= BUSY_GROUP ? BUSY_GROUP_MS : GROUP_MS;
    return executor.fresh > 0 ? 0 : IDLE_MS;
  };
}

/** A loop for each kind: neither waits for what the other's writes wait for, nor fresh ones for either. */
async function writeFailed(executor: Executor, deps: LoopDeps, stop: AbortSignal): Promise<void> {
  const wakes = { results: new Wake(), givenBack: new Wake() };
  executor.onFailed = (kind) => wakes[kind].set();
  const writing = (["results", "givenBack"] as const).map((kind) =>
    runLoop(
      deps,
      {
        name: WRITING_AGAIN[kind],
        meanwhile: MEANWHILE.again,
        step: async () => ((await executor.flushFailedOnce(kind)) > 0 ? 0 : IDLE_MS),
        backoffMs: { first: 100, max: 1_000 },
      },
      stop,
      wakes[kind],
    ),
  );
  await Promise.all(writing);
}
