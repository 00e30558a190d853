/** Tenants' endpoints: they answer well, badly, late or not at all, as their URL says, and remember nothing: the ledger does. */
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { Ledger } from "./ledger.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimProcess } from "./sim-process.ts";

export const ENDPOINTS = ["ok", "flaky", "slow", "down", "gone"] as const;
/** Whoever calls `poison` dies of it. */
export type Endpoint = (typeof ENDPOINTS)[number] | "poison";

interface Answer {
  readonly afterMs: number;
  /** Null: no answer comes. */
  readonly statusCode: number | null;
}

export class SimEndpoints {
  /** Set when the faults stop: who fails by chance no longer does. */
  healed = false;
  readonly #random: SeededRandom;
  readonly #ledger: Ledger;

  readonly #kill: (process: SimProcess) => void;

  constructor(random: SeededRandom, ledger: Ledger, kill: (process: SimProcess) => void) {
    this.#random = random;
    this.#ledger = ledger;
    this.#kill = kill;
  }

  /** As a process calls them. */
  callerOf(process: SimProcess): Caller {
    return {
      call: (call, signal) => this.#call(process, call, signal),
      close: async () => {},
    };
  }

  #call(process: SimProcess, call: Call, signal: AbortSignal): Promise<CallOutcome> {
    const sent = this.#ledger.sent(process, call);
    const { afterMs, statusCode } = this.#answerOf(call);
    if (endpointAt(call.url) === "poison") process.after(afterMs, () => this.#kill(process));
    sent.succeeded = statusCode !== null && statusCode < 300;
    return new Promise((resolve) => {
      const end = (outcome: CallOutcome) => {
        if (sent.ended) return;
        sent.ended = true;
        if (outcome.kind === "answered") sent.statusCode = outcome.statusCode;
        cancel();
        signal.removeEventListener("abort", interrupt);
        resolve(outcome);
      };
      const interrupt = () =>
        end({ kind: "failed", error: "interrupted", durationMs: Math.round(afterMs) });
      const inTime = statusCode !== null && afterMs < call.timeoutMs;
      const durationMs = Math.min(afterMs, call.timeoutMs);
      const cancel = process.after(durationMs, () => {
        if (!inTime) end({ kind: "failed", error: "timeout", durationMs });
        else if (statusCode === 0) end({ kind: "failed", error: "connection-reset", durationMs });
        else
          end({ kind: "answered", statusCode, retryAfterMs: null, responseBody: "", durationMs });
      });
      signal.addEventListener("abort", interrupt, { once: true });
    });
  }

  #answerOf({ url, timeoutMs }: Call): Answer {
    const random = this.#random;
    const kind = endpointAt(url);
    const soonMs = 2 + 80 * random.unit();
    switch (kind) {
      case "ok":
        return { afterMs: soonMs, statusCode: 200 };
      case "flaky":
        if (this.healed || random.chance(0.4)) return { afterMs: soonMs, statusCode: 204 };
        return { afterMs: soonMs, statusCode: random.pick([500, 503, 429, 0]) };
      case "slow":
        if (this.healed) return { afterMs: 300 + soonMs, statusCode: 200 };
        // Some of these are over too late, though they were a success.
        if (random.chance(0.2)) return { afterMs: timeoutMs, statusCode: null };
        return { afterMs: 1.3 * timeoutMs * random.unit(), statusCode: 200 };
      case "down":
        return { afterMs: soonMs, statusCode: random.pick([503, 0]) };
      case "poison":
        return { afterMs: soonMs, statusCode: null };
      case "gone":
        return { afterMs: soonMs, statusCode: 410 };
    }
  }
}

function endpointAt(url: string): Endpoint {
  return url.slice("https://".length, url.indexOf(".")) as Endpoint;
}
