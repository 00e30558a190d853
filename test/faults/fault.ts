/** What a fault is: what breaks when, on which processes, and what must still hold. */

import type { Sink } from "#test/support/sink.ts";
import type { TcpProxy } from "#test/support/tcp-proxy.ts";
import type { FaultDatabase } from "./database.ts";
import type { Fleet, FleetSettings, Kind } from "./fleet.ts";
import type { FaultHistory } from "./history.ts";
import type { Evidence, Verdict } from "./judge.ts";
import type { Load } from "./load.ts";

/** What a fault finds: everything runs, under load. */
export interface World {
  readonly database: FaultDatabase;
  /** Between MySQL and the processes that the fault has named. */
  readonly proxy: TcpProxy;
  readonly history: FaultHistory | null;
  readonly sink: Sink;
  readonly fleet: Fleet;
  readonly load: Load;
  readonly peakAtMs: number | null;
  readonly say: (line: string) => void;
  /** Waits; throws when the run is stopped. */
  sleep(ms: number): Promise<void>;
}

/** Epoch ms. */
export interface Injected {
  readonly brokenAtMs: number;
  /** When it was mended; of a death, when it happened. Recovery counts from here. */
  readonly mendedAtMs: number;
  /** Calls that may be made again although their answer had gone out, because no result of theirs had been committed. */
  readonly uncommitted?: number;
  /** What is worth telling beside the figures. */
  readonly notes?: string;
}

export interface Limits {
  /** All that the fault has made late has been called by then. */
  readonly recoveryMs?: number;
  /** p99 of critical jobs over the whole run, the fault included. */
  readonly criticalP99Ms?: number;
}

export interface Fault {
  /** F1, F2, … */
  readonly id: string;
  readonly title: string;
  /** What is broken, and for how long. */
  readonly breaks: string;
  readonly limits: Limits;
  /** Processes; one scheduler, two executors and a reconciler when left out. */
  readonly processes?: Readonly<Partial<Record<Kind, number>>>;
  readonly perSecond?: number;
  /** Tasks that are due together, 20 s after the load begins. */
  readonly peakTasks?: number;
  /** Which processes reach MySQL through the proxy; none when left out. */
  readonly proxied?: (kind: Kind, name: string) => boolean;
  readonly env?: (kind: Kind, name: string) => Readonly<Record<string, string>>;
  readonly output?: FleetSettings["output"];
  /** Runs Cassandra and archives what has succeeded a second after. */
  readonly withHistory?: boolean;
  /** Before the workers start. */
  prepare?(database: FaultDatabase, use: AsyncDisposableStack): Promise<Prepared>;
  inject(world: World): Promise<Injected>;
  /** Tasks of the fault's own that the general rules do not hold for. */
  isOwn?(taskUrl: string): boolean;
  /** What else must hold; one line for each thing that does not. */
  check?(world: World, evidence: Evidence, verdict: Verdict): Promise<readonly string[]>;
}

export interface Prepared {
  /** In place of the root account. */
  readonly mysqlUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
}
