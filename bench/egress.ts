/**
 * egress: calls through the guarded caller beside the same calls through undici's own agent, which checks nothing, in legs that
 * alternate against one endpoint; and that agent beside itself, to tell what the machine's noise looks like.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { Agent, request } from "undici";
import { openCaller } from "#adapters/http/caller.ts";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import { systemClock } from "#adapters/system/clock.ts";
import { assert } from "#core/domain/assert.ts";
import { parseTenantId } from "#core/domain/ids.ts";
import type { Call } from "#core/ports/caller.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";

const ROUNDS = 31;
const CALLS = 1_000;
const AT_ONCE = 32;
const RATIO_MIN = 0.95;
const KEEP_ALIVE_MS = 10_000;
/** Warm connections, as executors have; and one connection a call, where the checks are made each time. */
const PATHS = ["warm", "close"] as const;

export const scenario: Scenario = {
  question: "calls per second with the egress guard on against off",
  takes: [],
  run: runEgress,
};

if (!isMainThread) await serve();

/** The endpoint, in a thread of its own. */
async function serve(): Promise<void> {
  const server = createServer((incoming, response) => {
    incoming.resume();
    if (incoming.url === "/close") response.setHeader("connection", "close");
    response.end("ok");
  });
  server.listen(0, "127.0.0.1", 4_096);
  await once(server, "listening");
  parentPort?.postMessage((server.address() as AddressInfo).port);
}

type Send = (call: Call) => Promise<void>;

function openGuarded(): { send: Send; close: () => Promise<void> } {
  const quiet = { info() {}, warn() {}, error() {} };
  const policy = createEgressPolicy({ allow: "127.0.0.0/8:*" });
  const caller = openCaller({ clock: systemClock, logger: quiet, policy });
  const never = new AbortController().signal;
  const send: Send = async (call) => {
    const { kind } = await caller.call(call, never);
    assert(kind === "answered", "the endpoint answers");
  };
  return { send, close: () => caller.close() };
}

/** What the caller does but for the guard: one deadline, an outer signal, the first bytes of the body as text. */
function openUnguarded(): { send: Send; close: () => Promise<void> } {
  const dispatcher = new Agent({
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: 0 },
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
  });
  const never = new AbortController().signal;
  const send: Send = async ({ url, headers, body, timeoutMs }) => {
    const deadline = new AbortController();
    const stop = () => deadline.abort();
    const cancelTimer = systemClock.setTimer(timeoutMs, stop);
    never.addEventListener("abort", stop, { once: true });
    const sent = { dispatcher, method: "POST", headers, body, signal: deadline.signal } as const;
    const response = await request(url, sent);
    assert(response.statusCode === 200, "the endpoint answers");
    const kept: Uint8Array[] = [];
    for await (const chunk of response.body) kept.push(chunk);
    new TextDecoder().decode(Buffer.concat(kept));
    cancelTimer();
    never.removeEventListener("abort", stop);
  };
  return { send, close: () => dispatcher.destroy() };
}

async function callsPerSecond(send: Send, url: string, signal: AbortSignal): Promise<number> {
  const tenantId = parseTenantId("bench");
  assert(tenantId !== null, "a tenant's id");
  const headers = { "content-type": "application/json" };
  const fixed = { method: "POST", headers, body: '{"a":1}', timeoutMs: 30_000 };
  let left = CALLS;
  const worker = async () => {
    while (left-- > 0) {
      signal.throwIfAborted();
      await send({ tenantId, url, ...fixed, responseBytesMax: 1_024 });
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return (CALLS * 1_000) / (performance.now() - startMs);
}

interface Ratios {
  readonly onToOff: number[];
  readonly offToOff: number[];
  readonly onPerSecond: number[];
  readonly offPerSecond: number[];
}

async function runEgress({ say, signal }: ScenarioContext): Promise<ScenarioOutcome> {
  const worker = new Worker(import.meta.filename);
  const [port] = (await once(worker, "message")) as [number];
  const guarded = openGuarded();
  const unguarded = [openUnguarded(), openUnguarded()] as const;
  const rows: string[][] = [
    ["connections", "calls/s on", "calls/s off", "on/off", "off/off (quartiles)"],
  ];
  const figures: Record<string, number> = {};
  let pass = true;
  try {
    for (const path of PATHS) {
      const url = `http://127.0.0.1:${port}/${path}`;
      const leg = ({ send }: { send: Send }) => callsPerSecond(send, url, signal);
      const ratios = await measure(
        () => leg(guarded),
        unguarded.map((one) => () => leg(one)),
        say,
      );
      const [on, off] = [median(ratios.onToOff), ratios.offToOff.toSorted((a, b) => a - b)];
      const quartile = (share: number) => off[Math.floor(off.length * share)] ?? Number.NaN;
      const [noiseMin, noiseMax] = [quartile(0.25), quartile(0.75)];
      if (path === "warm") pass = on >= RATIO_MIN || on >= noiseMin;
      figures[`${path}Ratio`] = on;
      figures[`${path}NoiseMin`] = noiseMin;
      figures[`${path}NoiseMax`] = noiseMax;
      rows.push([
        path,
        median(ratios.onPerSecond).toFixed(0),
        median(ratios.offPerSecond).toFixed(0),
        on.toFixed(3),
        `${noiseMin.toFixed(3)}-${noiseMax.toFixed(3)}`,
      ]);
    }
  } finally {
    await Promise.all([guarded, ...unguarded].map((one) => one.close()));
    await worker.terminate();
  }
  return { pass, figures, table: rows };
}

/** Rounds of off, on, off, so that each leg with the guard stands between two without; the first round warms up. */
async function measure(
  on: () => Promise<number>,
  offs: readonly (() => Promise<number>)[],
  say: (line: string) => void,
): Promise<Ratios> {
  const [offFirst, offSecond] = offs;
  assert(offFirst !== undefined && offSecond !== undefined, "two legs without the guard");
  const ratios: Ratios = { onToOff: [], offToOff: [], onPerSecond: [], offPerSecond: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    const [before, between, after] = [await offFirst(), await on(), await offSecond()];
    if (round === 0) continue;
    ratios.onPerSecond.push(between);
    ratios.offPerSecond.push(before, after);
    ratios.onToOff.push((2 * between) / (before + after));
    ratios.offToOff.push(after / before);
    say(
      `round ${round}: ${before.toFixed(0)} off, ${between.toFixed(0)} on, ${after.toFixed(0)} off`,
    );
  }
  return ratios;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
