/** Between the processes and MySQL: slow, silent, broken, deaf on one side, cut after the commit, gone for one of them. */
import type { TcpProxy } from "#test/support/tcp-proxy.ts";
import { countUncommitted } from "../evidence.ts";
import type { Fault, World } from "../fault.ts";

const BROKEN_MS = 15_000;
/** By then a worker that cannot renew has stopped starting calls, and nobody has taken its jobs yet. */
const STOPPED_STARTING_MS = 5_500;
const RESET_EVERY_MS = 300;
const RESETS = 20;
const STRUCK_MS = 40_000;

const everything = () => true;

/** Broken for 15 s. */
function broken(breakIt: (proxy: TcpProxy) => void, mend: (proxy: TcpProxy) => void) {
  return async ({ proxy, sleep }: World) => {
    const brokenAtMs = Date.now();
    breakIt(proxy);
    await sleep(BROKEN_MS);
    mend(proxy);
    return { brokenAtMs, mendedAtMs: Date.now() };
  };
}

export const latency: Fault = {
  id: "F1",
  title: "slow network",
  breaks: "50 ms more on every round trip to MySQL, of all processes, for 15 s",
  proxied: everything,
  limits: { recoveryMs: 5_000 },
  inject: broken(
    (proxy) => proxy.setRoundTripMs(50),
    (proxy) => proxy.setRoundTripMs(0),
  ),
};

export const blackHole: Fault = {
  id: "F2",
  title: "black hole",
  breaks: "nothing passes between MySQL and any process for 15 s, connections stay open",
  proxied: everything,
  limits: { recoveryMs: 15_000 },
  inject: broken(
    (proxy) => proxy.pause(),
    (proxy) => proxy.resume(),
  ),
};

export const resets: Fault = {
  id: "F3",
  title: "connections reset",
  breaks: "every connection to MySQL reset 20 times in 6 s",
  proxied: everything,
  limits: { recoveryMs: 5_000 },
  async inject({ proxy, sleep }) {
    const brokenAtMs = Date.now();
    for (let i = 0; i < RESETS; i++) {
      proxy.resetAll();
      await sleep(RESET_EVERY_MS);
    }
    return { brokenAtMs, mendedAtMs: Date.now() };
  },
};

export const oneWay: Fault = {
  id: "F4",
  title: "one-way network",
  breaks: "statements reach MySQL, its answers do not come back, for 15 s",
  proxied: everything,
  limits: { recoveryMs: 15_000 },
  inject: broken(
    (proxy) => proxy.pause("answers"),
    (proxy) => proxy.resume(),
  ),
};

export const cutAfterCommit: Fault = {
  id: "F5",
  title: "cut after the commit",
  breaks: "claims, results and ticks whose commit has happened are not answered, 12 times",
  proxied: (kind) => kind === "executor" || kind === "scheduler",
  limits: { recoveryMs: 15_000 },
  async inject({ proxy, sleep }) {
    const claims = { at: "COMMIT", inTransactionWith: "FOR UPDATE SKIP LOCKED" };
    const results = { at: "UPDATE (VALUES", alone: true };
    const ticks = { at: "COMMIT", inTransactionWith: "INSERT INTO jobs" };
    const brokenAtMs = Date.now();
    const faults = [
      proxy.addFault({ kind: "cut-answer", ...claims, from: 2, times: 4 }),
      proxy.addFault({ kind: "cut-answer", ...results, from: 3, times: 4 }),
      proxy.addFault({ kind: "cut-answer", ...ticks, times: 4 }),
    ];
    const endMs = performance.now() + STRUCK_MS;
    const struck = () => faults.reduce((all, one) => all + one.struck, 0);
    while (struck() < 12 && performance.now() < endMs) await sleep(100);
    return { brokenAtMs, mendedAtMs: Date.now(), notes: `${struck()} answers lost` };
  },
  check: async (_world, { brokenAtMs, mendedAtMs }) =>
    mendedAtMs - brokenAtMs < STRUCK_MS ? [] : ["not every cut has struck"],
};

export const partition: Fault = {
  id: "F6",
  title: "an executor cut off",
  breaks: "one of two executors has no MySQL for 20 s, its connections stay open",
  proxied: (_kind, name) => name === "executor-2",
  limits: { recoveryMs: 15_000 },
  async inject(world) {
    const brokenAtMs = Date.now();
    world.proxy.pause();
    await world.sleep(STOPPED_STARTING_MS);
    const uncommitted = await countUncommitted(world);
    await world.sleep(20_000 - STOPPED_STARTING_MS);
    world.proxy.resume();
    // Its jobs are for others to take: what counts is how long that takes, not when it is back.
    return { brokenAtMs, mendedAtMs: brokenAtMs, uncommitted, notes: await fenced(world) };
  },
  check: async ({ database }) => {
    const rows = await database.run("SELECT 1 FROM workers WHERE fenced_at IS NOT NULL");
    return rows.length === 1 ? [] : [`${rows.length} workers were fenced`];
  },
};

async function fenced({ database }: World): Promise<string> {
  const rows = await database.run("SELECT 1 FROM workers WHERE fenced_at IS NOT NULL");
  return `${rows.length} fenced`;
}
