/**
 * Between processes and stores: every verb is a request that may be delayed, lost, delivered twice or answered too late, and a
 * transaction that may fail before or after its commit.
 *
 * What a caller is told is what the real adapters tell: StoreUnavailable when nothing was written, OutcomeUnknown when it may have
 * been, each by a deadline. A transaction of several statements needs its caller up to the COMMIT: it never happens after the
 * caller has given it up, and never twice. What is safe to repeat may do both.
 */
import type { Verb } from "#adapters/memory/memory-tables.ts";
import { OutcomeUnknown, StoreUnavailable } from "#core/domain/errors.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { HistoryStore, MayBegin, OnDurable } from "#core/ports/history-store.ts";
import type { Shard, Shards } from "#core/ports/shards.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Ledger } from "./ledger.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimProcess } from "./sim-process.ts";
import type { Trace } from "./trace.ts";

/** Probabilities, by request. */
export interface NetworkFaults {
  readonly failBefore: number;
  readonly failAfter: number;
  readonly slow: number;
  readonly lose: number;
  readonly twice: number;
  /** The process dies when it has sent a request, or when that was executed. */
  readonly kill: number;
}

export const NO_FAULTS: NetworkFaults = {
  failBefore: 0,
  failAfter: 0,
  slow: 0,
  lose: 0,
  twice: 0,
  kill: 0,
};

const SLOW_MS_MAX = 7_000;
type AnyVerb = Verb | Exclude<keyof HistoryStore, "close">;
/** Of a read nothing is written; what is safe to repeat may be done twice, and after its caller has given it up. */
type Kind = "read" | "repeat" | "once";
/** Each verb that there is, or it does not compile. */
const KINDS: Readonly<Record<AnyVerb, Kind>> = {
  ...all("read", ["poll", "find", "findByName", "findAnswer", "exists", "list", "lookAhead"]),
  ...all("read", ["loadVersions", "loadCallParts", "listUnfinished", "listMarked", "listPresent"]),
  ...all("read", ["listHeldBy", "listPastBackstop", "listArchivable", "countArchivable"]),
  ...all("read", ["listRevocations", "listByTask", "findListedDownTo", "listDeadLetters"]),
  ...all("read", ["findLettersDownTo", "listExpired", "listFenced", "adopt", "measure"]),
  ...all("read", ["listSigningSecrets", "findDataKey", "firstDataKey", "sampleDataKeys"]),
  ...all("read", ["listLines", "countWaiting", "countSet"]),
  ...all("repeat", ["register", "renew", "fence", "remove", "pruneFenced", "pruneUnread"]),
  ...all("repeat", ["recordResults", "giveBack", "rescue", "deleteArchived", "purgeEnded"]),
  ...all("repeat", ["write", "keepSlots", "releaseLine"]),
  ...all("once", ["claimDue", "takeCritical", "takeLimited", "materialize", "goOnWithJobs"]),
  ...all("once", ["create", "createMany", "edit", "runNow", "runTest", "cancel", "put"]),
  ...all("once", ["retryDead", "retryOne", "addDataKey", "keepDataKey"]),
  ...all("once", ["keepSigningSecret", "rotateSigningSecret"]),
};
const CLAIMS: ReadonlySet<string> = new Set<Verb>(["claimDue", "takeCritical", "takeLimited"]);
const DEADLINES_MS: Partial<Record<string, number>> = {
  ...{
    poll: 2_000,
    claimDue: 1_000,
    takeCritical: 1_000,
    takeLimited: 1_000,
    keepSlots: 1_000,
    adopt: 1_000,
  },
};
const DEADLINE_MS = 5_000;
/** Their callers say how long they wait. */
const HEARTBEATS: ReadonlySet<string> = new Set<Verb>(["register", "renew"]);
const HISTORY = "history.";
const WRITE_HISTORY = `${HISTORY}write`;
const DONE = Promise.resolve();

/** What happens to one request. */
interface Fate {
  requestMs: number;
  /** Null: the answer is lost. */
  answerMs: number | null;
  /** The request is lost. */
  lost: boolean;
  before: Error | null;
  after: Error | null;
  twice: boolean;
  kill: "sent" | "executed" | null;
}

export interface NetworkOptions {
  readonly queue: EventQueue;
  readonly random: SeededRandom;
  readonly trace: Trace;
  readonly kill: (process: SimProcess) => void;
}

export class SimNetwork {
  faults = NO_FAULTS;
  /** What history takes for an answer, at most. */
  historyMs = 0;
  databaseAway = false;
  historyAway = false;
  /** Of processes that are cut off, which direction. */
  readonly cuts = new Map<SimProcess, "requests" | "answers">();
  ledger: Ledger | null = null;
  readonly #options: NetworkOptions;
  #before: Error | null = null;
  #after: Error | null = null;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** For the stores in memory: fails the transaction that is being executed as its request's fate says. */
  readonly hooks = {
    beforeCommit: (_verb: Verb): Promise<void> => {
      const error = this.#before;
      this.#before = null;
      return error === null ? DONE : Promise.reject(error);
    },
    afterCommit: (_verb: Verb): Promise<void> => {
      const error = this.#after;
      this.#after = null;
      return error === null ? DONE : Promise.reject(error);
    },
  };

  /** The stores as a process reaches them. */
  shardsOf(process: SimProcess, shard: Shard): Shards {
    const reached: Shard = {
      ...shard,
      tasks: this.#reach(process, shard.tasks),
      jobs: this.#reach(process, shard.jobs),
      workers: this.#reach(process, shard.workers),
      secrets: this.#reach(process, shard.secrets),
      backlog: this.#reach(process, shard.backlog),
      limits: this.#reach(process, shard.limits),
    };
    return {
      forTask: () => reached,
      forJob: () => reached,
      forTenant: () => reached,
      all: () => [reached],
      close: async () => {},
    };
  }

  historyOf(process: SimProcess, history: HistoryStore): HistoryStore {
    const request = <T>(verb: string, run: () => Promise<T>) =>
      this.#request(process, `${HISTORY}${verb}`, [], run);
    return {
      write: (...args) => request("write", () => this.#writeHistory(history, ...args)),
      find: (...args) => request("find", () => history.find(...args)),
      listByTask: (...args) => request("listByTask", () => history.listByTask(...args)),
      close: async () => {},
    };
  }

  /** A write that fails may have written a part. */
  async #writeHistory(
    history: HistoryStore,
    entries: readonly HistoryEntry[],
    onDurable?: OnDurable,
    mayBegin?: MayBegin,
  ): Promise<void> {
    const before = this.#before;
    const after = this.#after;
    this.#before = null;
    this.#after = null;
    const part = before === null ? entries : entries.slice(0, Math.floor(entries.length / 2));
    await history.write(part, onDurable, mayBegin);
    const error = before ?? after;
    if (error !== null) throw error;
  }

  #reach<Store extends object>(process: SimProcess, store: Store): Store {
    const target = store as Record<string, unknown>;
    const reached: Record<string, unknown> = {};
    for (const verb of verbsOf(store)) {
      reached[verb] = (...args: unknown[]) =>
        this.#request(process, verb, args, () =>
          (target[verb] as (...args: unknown[]) => Promise<unknown>).apply(store, args),
        );
    }
    return reached as Store;
  }

  #request<T>(
    process: SimProcess,
    verb: string,
    args: readonly unknown[],
    run: () => Promise<T>,
  ): Promise<T> {
    const { queue, trace } = this.#options;
    if (verb === "register") this.ledger?.workers.set(args[0] as never, process);
    const fate = this.#draw(process, verb);
    if (fate === null) return this.#refuse(process, verb);
    return new Promise((resolve, reject) => {
      const deadlineMs = HEARTBEATS.has(verb)
        ? (args[2] as number)
        : (DEADLINES_MS[verb] ?? DEADLINE_MS);
      let givenUp = false;
      const answer = (settle: () => void) => {
        if (fate.kill === "executed") this.#options.kill(process);
        if (fate.answerMs === null) return;
        if (fate.answerMs === 0 && process.alive && !process.frozen) settle();
        else process.after(fate.answerMs, settle);
      };
      const execute = () => {
        if (givenUp && kindOf(verb) !== "repeat") return;
        this.#execute(process, verb, args, fate, run).then(
          (value) => answer(() => resolve(value)),
          (error) => answer(() => reject(error)),
        );
      };
      if (!fate.lost) queue.schedule(fate.requestMs, execute);
      if (fate.twice)
        queue.schedule(fate.requestMs + 1 + (SLOW_MS_MAX * fate.requestMs) / 10, execute);
      if (fate.lost || fate.answerMs === null || fate.requestMs + fate.answerMs > deadlineMs)
        process.after(deadlineMs, () => {
          givenUp = true;
          trace.note(null, null, () => `${process.name} ${verb}: no answer in ${deadlineMs} ms`);
          reject(lateError(verb));
        });
      if (fate.kill === "sent") this.#options.kill(process);
    });
  }

  #execute<T>(
    process: SimProcess,
    verb: string,
    args: readonly unknown[],
    fate: Fate,
    run: () => Promise<T>,
  ): Promise<T> {
    this.ledger?.begin(process, verb as Verb, args);
    this.#before = this.#isAway(verb) ? unavailable() : fate.before;
    this.#after = fate.after;
    return run();
  }

  #isAway(verb: string): boolean {
    return isHistory(verb) ? this.historyAway : this.databaseAway;
  }

  #refuse<T>(process: SimProcess, verb: string): Promise<T> {
    return new Promise((_resolve, reject) => {
      process.after(2, () => reject(unavailable()));
      this.#options.trace.note(null, null, () => `${process.name} ${verb}: refused`);
    });
  }

  /** Null: no connection. */
  #draw(process: SimProcess, verb: string): Fate | null {
    const { random } = this.#options;
    const { faults } = this;
    const cut = this.cuts.get(process);
    const fate: Fate = {
      requestMs: 0.2 + 3 * random.unit(),
      answerMs: 0,
      lost: cut === "requests",
      before: null,
      after: null,
      twice: false,
      kill: null,
    };
    if (this.#isAway(verb)) return null;
    if (verb === WRITE_HISTORY) fate.answerMs = this.historyMs * random.unit();
    if (cut === "answers") loseAnswer(fate, verb);
    if (faults === NO_FAULTS || !random.chance(FAULTY)) return fate;
    const scale = 1 / FAULTY;
    if (random.chance(faults.failBefore * scale))
      fate.before = random.chance(0.5) && kindOf(verb) !== "read" ? unknown() : unavailable();
    if (random.chance(faults.failAfter * scale)) fate.after = lateError(verb);
    if (random.chance(faults.slow * scale)) fate.requestMs += SLOW_MS_MAX * random.unit() ** 3;
    if (random.chance(faults.slow * (isHistory(verb) ? 3 : 1) * scale))
      fate.answerMs = SLOW_MS_MAX * random.unit() ** 3;
    if (random.chance(faults.lose * scale)) fate.lost = true;
    if (random.chance(faults.lose * scale)) loseAnswer(fate, verb);
    if (kindOf(verb) === "repeat") fate.twice = random.chance(faults.twice * scale);
    if (random.chance(faults.kill * scale)) fate.kill = random.chance(0.5) ? "sent" : "executed";
    return fate;
  }
}

/** How many requests are looked at for faults at all: it saves drawing for the others. */
const FAULTY = 0.3;

/** Who claims knows after its SELECT what it is claiming: it is told so at its deadline, and that the COMMIT was not answered. */
function loseAnswer(fate: Fate, verb: string): void {
  if (CLAIMS.has(verb)) {
    fate.after = unknown();
    fate.answerMs = DEADLINES_MS[verb] ?? DEADLINE_MS;
    fate.requestMs = 0;
  } else fate.answerMs = null;
}

function lateError(verb: string): Error {
  return kindOf(verb) === "read" || isHistory(verb) ? unavailable() : unknown();
}

function isHistory(verb: string): boolean {
  return verb.startsWith(HISTORY);
}

function kindOf(verb: string): Kind {
  return KINDS[(isHistory(verb) ? verb.slice(HISTORY.length) : verb) as AnyVerb];
}

function all<Of extends AnyVerb>(kind: Kind, verbs: readonly Of[]): Record<Of, Kind> {
  return Object.fromEntries(verbs.map((verb) => [verb, kind])) as Record<Of, Kind>;
}

function unavailable(): Error {
  return new StoreUnavailable("away, says the simulation");
}

function unknown(): Error {
  return new OutcomeUnknown("not answered, says the simulation");
}

const verbsByClass = new Map<object, readonly string[]>();

/** Of a class's instance, also behind a proxy. */
function verbsOf(store: object): readonly string[] {
  const prototype = Object.getPrototypeOf(store) as object;
  const known = verbsByClass.get(prototype);
  if (known !== undefined) return known;
  const verbs = Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
  verbsByClass.set(prototype, verbs);
  return verbs;
}
