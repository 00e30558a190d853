/** An HTTP endpoint that measures its callers: how many it has at once, when each call began, which jobs it has answered. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startProcess } from "./worker-process.ts";

const RAW_MS = 300_000;

export interface GaugeSink extends AsyncDisposable {
  readonly url: string;
  /** Calls being answered now, and the most there have been since `resetMost`. */
  readonly open: number;
  readonly most: number;
  /** When each call began, epoch ms with fractions, in their order. */
  readonly startsMs: readonly number[];
  /** How long after its time each call came, in ms, in their order. */
  readonly lagsMs: readonly number[];
  /** When each answer was given, epoch ms with fractions, in their order. */
  readonly endsMs: readonly number[];
  /** Jobs whose call was answered, by Idempotency-Key; and those that were answered twice. */
  readonly answered: ReadonlySet<string>;
  readonly twice: number;
  resetMost(): void;
  /** Resolves when `met` says so, looked at after each answer; rejects after `deadlineMs`. */
  until(met: () => boolean, deadlineMs: number): Promise<void>;
}

/** Listens on a free port of 127.0.0.1. `callMs` is asked how long each call takes. */
export async function openGaugeSink(callMs: () => number): Promise<GaugeSink> {
  const gauge = new Gauge();
  const server = createServer((request, response) => {
    const key = String(request.headers["idempotency-key"] ?? "");
    const dueMs = Date.parse(String(request.headers["x-scheduled-at"] ?? ""));
    const leave = gauge.enter(dueMs);
    request.resume();
    const timer = setTimeout(() => {
      leave();
      gauge.answer(key);
      response.writeHead(200).end("ok\n");
    }, callMs());
    // The caller is gone: what it asked for is no longer under way.
    response.once("close", () => {
      clearTimeout(timer);
      leave();
    });
  });
  server.keepAliveTimeout = 120_000;
  server.listen(0, "127.0.0.1", 4_096);
  await once(server, "listening");
  return Object.assign(gauge, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  });
}

class Gauge {
  open = 0;
  most = 0;
  twice = 0;
  readonly startsMs: number[] = [];
  readonly lagsMs: number[] = [];
  readonly endsMs: number[] = [];
  readonly answered = new Set<string>();
  readonly #lookers = new Set<() => void>();

  /** Returns what ends it, once. */
  enter(dueMs: number): () => void {
    const nowMs = performance.timeOrigin + performance.now();
    this.startsMs.push(nowMs);
    this.lagsMs.push(nowMs - dueMs);
    this.open++;
    this.most = Math.max(this.most, this.open);
    let isOpen = true;
    return () => {
      if (isOpen) this.open--;
      isOpen = false;
    };
  }

  answer(key: string): void {
    if (this.answered.has(key)) this.twice++;
    this.answered.add(key);
    this.endsMs.push(performance.timeOrigin + performance.now());
    for (const look of this.#lookers) look();
  }

  resetMost(): void {
    this.most = this.open;
  }

  async until(met: () => boolean, deadlineMs: number): Promise<void> {
    if (met()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (met()) resolve();
    };
    const timer = setTimeout(() => {
      const { answered, open } = this;
      reject(new Error(`not met in ${deadlineMs} ms: ${answered.size} answered, ${open} open`));
    }, deadlineMs);
    this.#lookers.add(look);
    await promise.finally(() => {
      clearTimeout(timer);
      this.#lookers.delete(look);
    });
  }
}

/** Calls a second between the first and the last tenth: without the way in and out. */
export function steadyPerSecond({ endsMs }: Pick<GaugeSink, "endsMs">): number {
  const [from, to] = [Math.floor(endsMs.length * 0.1), Math.ceil(endsMs.length * 0.9) - 1];
  return ((to - from) * 1_000) / ((endsMs[to] ?? 0) - (endsMs[from] ?? 0));
}

/** The most starts in any span of `spanMs`, the start included and the end not. */
export function mostStartsIn(startsMs: readonly number[], spanMs: number): number {
  const sorted = startsMs.toSorted((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [at, startMs] of sorted.entries()) {
    while (startMs - (sorted[first] ?? 0) >= spanMs) first++;
    most = Math.max(most, at - first + 1);
  }
  return most;
}

/** What so many callers at once can do and nothing else, in calls a second: a process of its own, as an executor is. */
export async function callRaw(url: string, calls: number, atOnce: number): Promise<number> {
  await using callers = startProcess("test/support/raw-callers.ts", {}, [
    ...[url, String(calls), String(atOnce)],
  ]);
  return Number((await callers.line("calls a second: ", RAW_MS)).replace(/^.*: /, ""));
}
