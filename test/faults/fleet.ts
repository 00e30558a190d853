/** The processes of ours under a fault: started, killed, stopped and replaced by name, through the proxy or past it. */
import { assert } from "#core/domain/assert.ts";
import { type OwnProcess, startTick, startWorker } from "#test/support/worker-process.ts";

export type Kind = "scheduler" | "executor" | "reconciler" | "archiver";
export const KINDS: readonly Kind[] = ["scheduler", "executor", "reconciler", "archiver"];

const START_MS = 60_000;
/** What a drain may take, and the platform waits for. */
const STOP_MS = 120_000;
const KILLED_MS = 10_000;

export interface FleetSettings {
  readonly mysqlUrl: (kind: Kind, name: string) => string;
  readonly databasePrefix: string;
  readonly env: (kind: Kind, name: string) => Readonly<Record<string, string>>;
  readonly output: "collected" | "full-disk" | "closed";
}

export class Fleet {
  readonly #settings: FleetSettings;
  readonly #living = new Map<string, OwnProcess>();
  readonly #ends: string[] = [];
  #names = 0;

  constructor(settings: FleetSettings) {
    this.#settings = settings;
  }

  /** Ends that were neither asked for nor clean. */
  get badEnds(): readonly string[] {
    return this.#ends;
  }

  named(name: string): OwnProcess {
    const found = this.#living.get(name);
    assert(found !== undefined, `${name} lives`);
    return found;
  }

  names(kind: Kind): string[] {
    return [...this.#living.keys()].filter((name) => name.startsWith(kind));
  }

  /** Returns its name, `executor-3`, once it says that it runs. */
  async start(kind: Kind): Promise<string> {
    const name = `${kind}-${++this.#names}`;
    const { mysqlUrl, databasePrefix, env, output } = this.#settings;
    const settings = {
      mysqlUrl: mysqlUrl(kind, name),
      databasePrefix,
      env: env(kind, name),
      output,
    };
    const ticks = kind === "reconciler" || kind === "archiver";
    const one = ticks ? startTick(kind, settings) : startWorker(kind, settings);
    this.#living.set(name, one);
    if (output === "collected") await one.line(ticks ? "a run now" : '"started"', START_MS);
    return name;
  }

  async startAll(counts: Readonly<Partial<Record<Kind, number>>>): Promise<void> {
    const all = KINDS.flatMap((kind) => Array.from({ length: counts[kind] ?? 0 }, () => kind));
    await Promise.all(all.map((kind) => this.start(kind)));
  }

  /** SIGKILL; returns the epoch ms at which it was sent, once the process has ended. */
  async kill(name: string): Promise<number> {
    const one = this.named(name);
    const killedAtMs = Date.now();
    one.signal("SIGKILL");
    await one.ended(KILLED_MS);
    this.#living.delete(name);
    return killedAtMs;
  }

  /** Waits for one of a kind to end by itself and forgets it; rejects after `deadlineMs`. */
  async oneEnds(kind: Kind, deadlineMs: number): Promise<string> {
    const ends = this.names(kind).map(async (name) => {
      await this.named(name).ended(deadlineMs);
      return name;
    });
    for (const end of ends) end.catch(() => {});
    const name = await Promise.race(ends);
    this.#living.delete(name);
    return name;
  }

  /** SIGTERM, and its end: anything but exit code 0 is kept as a bad end. */
  async stop(name: string): Promise<void> {
    const one = this.named(name);
    one.signal("SIGTERM");
    const { code, signal } = await one.ended(STOP_MS);
    this.#living.delete(name);
    if (code !== 0) this.#ends.push(`${name} ended with ${signal ?? code}`);
  }

  /** Stops everything that lives, tenants' calls first having an end. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#living.keys()].map((name) => this.stop(name)));
  }

  /** What warnings and errors said, each message once with how often it came. */
  complaints(): Map<string, number> {
    const said = new Map<string, number>();
    for (const { lines } of this.#living.values())
      for (const line of lines) {
        if (!/"level":"(warn|error)"/.test(line)) continue;
        const { msg } = JSON.parse(line) as { msg: string };
        said.set(msg, (said.get(msg) ?? 0) + 1);
      }
    return said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#living.values()) await one[Symbol.asyncDispose]();
  }
}
