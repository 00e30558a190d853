/**
 * A TCP proxy of ours on the loopback interface, between a worker and its database: it adds latency, stands still, breaks
 * connections, and breaks them at a chosen statement of the MySQL protocol. That is where the interesting failures are: the
 * COMMIT that has happened although nobody heard so, the scheduler that dies between its two statements.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { DelayLine } from "./delay-line.ts";
import { type Fault, type FaultSpec, Faults } from "./proxy-faults.ts";
import { type LinkHost, ProxyLink } from "./proxy-link.ts";

export interface TcpProxyOptions {
  readonly targetPort: number;
  readonly targetHost?: string;
  /** 0 (the default) takes a free one. */
  readonly port?: number;
  /** Added to every round trip, half on each way. */
  readonly roundTripMs?: number;
  /** Reads statements, which `addFault` needs; false passes bytes on as they come. */
  readonly readsStatements?: boolean;
}

export interface TcpProxy {
  readonly port: number;
  /** Connections that are open now. */
  readonly open: number;
  setRoundTripMs(roundTripMs: number): void;
  /** Stands still: connections stay open, new ones are taken, nothing passes: either way, or answers only. */
  pause(what?: "both" | "answers"): void;
  resume(): void;
  /** Connections that are open now are half open from now on: nothing passes, and nobody is told. */
  silenceOpenOnes(): void;
  /** Resets every open connection, both sides. */
  resetAll(): void;
  /** Refuses new connections (true), or takes them again on the same port. */
  refuse(refused: boolean): Promise<void>;
  /**
   * Connections that are open now can only read from their next statement on, as if their server had become a reader; those to come
   * can write. Needs `readsStatements`.
   */
  makeOpenOnesReadOnly(): void;
  /** Arms a fault for connections that are open and those to come. */
  addFault(spec: FaultSpec): Fault;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1 and returns once it does. */
export async function openTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const { targetPort, targetHost = "127.0.0.1", roundTripMs = 0, readsStatements = true } = options;
  const links = new Set<ProxyLink>();
  const faults = new Faults();
  const host: LinkHost = {
    target: { host: targetHost, port: targetPort },
    toServer: new DelayLine(),
    toClient: new DelayLine(),
    faults: readsStatements ? faults : null,
    oneWayMs: roundTripMs / 2,
    paused: "nothing",
  };
  const listen = async (port: number): Promise<Server> => {
    const listening = createServer({ noDelay: true }, (client) => {
      links.add(new ProxyLink(client, host, (link) => links.delete(link)));
    }).listen(port, "127.0.0.1");
    await once(listening, "listening");
    return listening;
  };
  const setPaused = (paused: LinkHost["paused"]) => {
    host.paused = paused;
    for (const link of links) link.pauseOrResume();
  };
  const resetAll = () => {
    for (const link of [...links]) link.reset();
  };
  let server: Server | null = await listen(options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  const refuse = async (refused: boolean) => {
    if (!refused) {
      server ??= await listen(port);
      return;
    }
    server?.close();
    server = null;
  };
  return {
    port,
    get open() {
      return links.size;
    },
    setRoundTripMs: (ms) => {
      host.oneWayMs = ms / 2;
    },
    pause: (what = "both") => setPaused(what),
    resume: () => setPaused("nothing"),
    silenceOpenOnes: () => {
      for (const link of links) link.silence();
    },
    resetAll,
    refuse,
    makeOpenOnesReadOnly: () => {
      for (const link of links) link.makeReadOnly();
    },
    addFault: (spec) => faults.add(spec),
    close: async () => {
      await refuse(true);
      resetAll();
    },
  };
}

if (import.meta.main) {
  const target = new URL(`tcp://${process.env.PROXY_TARGET}`);
  const proxy = await openTcpProxy({
    targetHost: target.hostname,
    targetPort: Number(target.port),
    roundTripMs: Number(process.env.PROXY_ROUND_TRIP_MS ?? 0),
    readsStatements: false,
  });
  console.log(`proxy on 127.0.0.1:${proxy.port}`);
  // Whoever started it is gone when its standard input ends.
  process.stdin.once("end", () => process.exit(0)).resume();
}
