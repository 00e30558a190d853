/**
 * A whole system in one thread: the real services over stores in memory, each in a process of its own, and what goes wrong. Then
 * everything that goes wrong stops, and what is left must come to its end.
 */
import { openMemoryHistory } from "#adapters/memory/history-store.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { JobId, TaskId } from "#core/domain/ids.ts";
import type { JobStatus } from "#core/domain/job.ts";
import { isFinished } from "#core/domain/job-state.ts";
import { createTask } from "#core/services/tasks/create-task.ts";
import { resumeTask } from "#core/services/tasks/resume-task.ts";
import { checkEnd } from "./check-end.ts";
import { EventQueue } from "./event-queue.ts";
import { Ledger } from "./ledger.ts";
import type { Plant } from "./plants.ts";
import { type Kind, MAINS, type ProcessDeps, SILENT, seedSigningSecrets } from "./process-mains.ts";
import {
  type Disaster,
  drawClock,
  drawScenario,
  punctualAfterMs,
  type Scenario,
} from "./scenario.ts";
import { SeededRandom } from "./seeded-random.ts";
import { SimEndpoints } from "./sim-endpoint.ts";
import { NO_FAULTS, SimNetwork } from "./sim-network.ts";
import { EPOCH_MS, SimProcess } from "./sim-process.ts";
import { readHistoryOf } from "./sim-reader.ts";
import { drawSettings, type Known, limitKeyOf, poisonOf, TENANTS } from "./sim-users.ts";
import { Trace } from "./trace.ts";

/** After the last occurrence, with nothing failing: the longest way from there to an end. */
const ENDS_WITHIN_MS = 150_000;
/** Behind a limit much may be left to do: as long as calls go on, up to this. */
const LIMITED_ENDS_WITHIN_MS = 3_600_000;
const RESTART_MS = 1_000;
const LATE_MS_MAX = 2_500;
/** What a thousandth makes of the time for which an executor relies on its quickest poll. */
const EARLY_MS = 200;
const STREAMS = { scenario: 0, network: 1, endpoints: 2, world: 3, processes: 10 };

export interface WorldOptions {
  readonly plant?: Plant | null;
  readonly traced?: boolean;
  /** In place of what the seed would draw. */
  readonly scenario?: Partial<Scenario>;
}

export class World {
  readonly queue = new EventQueue();
  readonly trace: Trace;
  readonly scenario: Scenario;
  readonly ledger: Ledger;
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #network: SimNetwork;
  readonly #endpoints: SimEndpoints;
  readonly #shards;
  readonly #served;
  readonly #known: Known;
  readonly #living = new Map<string, SimProcess>();
  /** Of every process that there should be, by name. */
  readonly #wanted = new Map<string, Kind>();
  readonly #stops = new Map<SimProcess, AbortController>();
  #databaseStepMs = 0;
  #born = 0;
  #healed = false;
  #over = false;

  constructor(seed: number, { plant = null, traced = false, scenario = {} }: WorldOptions = {}) {
    this.#seed = seed;
    this.scenario = { ...drawScenario(new SeededRandom(seed, STREAMS.scenario)), ...scenario };
    this.#random = new SeededRandom(seed, STREAMS.world);
    this.trace = new Trace(this.queue, traced);
    this.#network = new SimNetwork({
      queue: this.queue,
      random: new SeededRandom(seed, STREAMS.network),
      trace: this.trace,
      kill: (process) => this.#kill(process),
    });
    const clock = { nowMs: () => this.databaseNowMs() };
    const { jobsAtOnce } = this.scenario;
    this.#shards = openMemoryShards({
      ...{ clock, hooks: this.#network.hooks },
      ...(jobsAtOnce === null ? {} : { jobsAtOnce }),
    });
    const { tables } = this.#shards;
    this.ledger = new Ledger({
      tables,
      queue: this.queue,
      trace: this.trace,
      databaseNowMs: clock.nowMs,
      earlyMs: this.scenario.databaseStepsMs + (this.scenario.wrongClocks ? EARLY_MS : 0),
    });
    this.#network.ledger = this.ledger;
    this.#endpoints = new SimEndpoints(
      new SeededRandom(seed, STREAMS.endpoints),
      this.ledger,
      (process) => this.#kill(process),
    );
    const [shard] = this.#shards.all();
    if (shard === undefined) throw new Error("one shard is there");
    const history = this.ledger.watchHistory(openMemoryHistory());
    const stores = { shard, history, tables };
    this.#served = plant === null ? stores : { ...stores, ...plant.wrap(stores) };
    const jobs = (taskId: TaskId, status?: JobStatus): JobId[] =>
      [...tables.jobs.values()]
        .filter((job) => job.taskId === taskId && (status === undefined || job.status === status))
        .map(({ id }) => id);
    this.#known = { tasks: [], jobs };
    seedSigningSecrets(tables);
  }

  databaseNowMs(): number {
    return Math.floor(EPOCH_MS + this.queue.nowMs) + this.#databaseStepMs;
  }

  /** Jobs that there are, archived ones included. */
  get jobs(): number {
    return new Set([...this.#shards.tables.jobs.keys(), ...this.ledger.archived.keys()]).size;
  }

  /** Lives through all of it. */
  async run(): Promise<void> {
    const { scenario, queue } = this;
    await this.#createTasks();
    this.#network.faults = scenario.faults;
    this.#network.historyMs = scenario.historyMs;
    const kinds: [Kind, number][] = [
      ["executor", scenario.executors],
      ["scheduler", scenario.schedulers],
      ["reconciler", scenario.reconcilers],
      ["archiver", scenario.archivers],
      ["user", scenario.users],
      ["reader", 1],
    ];
    for (const [kind, count] of kinds)
      for (let i = 1; i <= count; i++)
        queue.schedule(this.#random.between(0, 1_500), () => this.#spawn(kind, `${kind} ${i}`));
    for (const disaster of scenario.disasters)
      queue.schedule(disaster.atMs, () => this.#strike(disaster));
    queue.schedule(scenario.healMs, () => this.#heal());
    await queue.run(() => this.#over);
  }

  async #createTasks(): Promise<void> {
    const process = new SimProcess("setup", this.queue, { skewMs: 0, rate: 1, earlyMs: 0 });
    const random = this.#random;
    const { clock } = process;
    const deps = { shards: this.#shards, clock, random, retention: this.scenario.retention };
    for (const { endpoint, concurrency, perSecond } of this.scenario.limits)
      for (const tenantId of TENANTS) {
        const key = limitKeyOf(tenantId, endpoint);
        await this.#shards.all()[0]?.limits.put(key, { concurrency, perSecond });
      }
    for (let i = 0; i < this.scenario.tasks; i++) {
      const tenantId = random.pick(TENANTS);
      const settings = drawSettings(this.scenario, random, clock.nowMs());
      const poisonous = i === 0 && this.scenario.poison;
      const made = await createTask(deps, tenantId, poisonous ? poisonOf(settings) : settings);
      if (made.kind === "created") this.#known.tasks.push({ id: made.created.task.id, tenantId });
    }
  }

  #spawn(kind: Kind, name: string): void {
    const random = new SeededRandom(this.#seed, STREAMS.processes + this.#born++);
    const process = new SimProcess(name, this.queue, drawClock(this.scenario, random));
    const stop = new AbortController();
    this.#wanted.set(name, kind);
    this.#living.set(name, process);
    this.#stops.set(process, stop);
    this.trace.note(null, null, () => `${name} starts`);
    MAINS[kind](this.#depsOf(process, random, stop.signal)).then(
      () => this.#ended(process, kind, "exits"),
      (error: unknown) => {
        if (!(error instanceof OperatingError))
          this.ledger.violate("a process fell over", `${name}: ${told(error)}`, null);
        this.#ended(process, kind, `falls over: ${told(error)}`);
      },
    );
    this.#kinds.set(process, kind);
  }

  readonly #kinds = new Map<SimProcess, Kind>();

  #depsOf(process: SimProcess, random: SeededRandom, stop: AbortSignal): ProcessDeps {
    const { clock } = process;
    const { scenario, ledger } = this;
    const shards = this.#network.shardsOf(process, this.#served.shard);
    const [shard] = shards.all();
    if (shard === undefined) throw new Error("one shard is there");
    return {
      ...{ shards, shard, clock, random, stop, scenario, ledger },
      history: this.#network.historyOf(process, this.#served.history),
      caller: this.#endpoints.callerOf(process),
      known: this.#known,
      present: (taskId) => this.#present(taskId),
      nowMs: () => this.queue.nowMs,
      isHealed: () => this.#healed,
    };
  }

  *#present(taskId: TaskId): Iterable<JobId> {
    yield* this.#known.jobs(taskId);
    for (const [id, job] of this.ledger.archived) if (job.taskId === taskId) yield id;
  }

  #kill(process: SimProcess): void {
    const kind = this.#kinds.get(process);
    if (!process.alive || kind === undefined) return;
    process.kill();
    this.#ended(process, kind, "DIES");
  }

  #ended(process: SimProcess, kind: Kind, how: string): void {
    const { name } = process;
    process.kill();
    this.trace.note(null, null, () => `${name} ${how}`);
    if (this.#living.get(name) !== process) return;
    this.#living.delete(name);
    const awayMs = this.#healed ? RESTART_MS : RESTART_MS + 9_000 * this.#random.unit() ** 2;
    this.#restart(kind, name, awayMs);
  }

  /** Once, however often it is asked for. */
  #restart(kind: Kind, name: string, afterMs: number): void {
    this.queue.schedule(afterMs, () => {
      if (!this.#living.has(name)) this.#spawn(kind, name);
    });
  }

  #strike({ kind, lastsMs }: Disaster): void {
    // Executors twice as often as others: most of the promises hang on them.
    const victims = [...this.#living.values(), ...this.#all("executor")];
    if (victims.length === 0) return;
    const victim = this.#random.pick(victims);
    this.trace.note(
      null,
      null,
      () => `DISASTER: ${kind} ${victim.name}, ${Math.round(lastsMs)} ms`,
    );
    const until = (undo: () => void) => this.queue.schedule(lastsMs, undo);
    switch (kind) {
      case "kill":
        this.#kill(victim);
        return;
      case "kill-all-executors":
        for (const executor of this.#all("executor")) this.#stopFor(executor, lastsMs);
        return;
      case "kill-all-schedulers":
        for (const scheduler of this.#all("scheduler")) this.#stopFor(scheduler, lastsMs);
        return;
      case "freeze-all-executors":
        for (const executor of this.#all("executor")) {
          executor.freeze();
          until(() => this.#thaw(executor));
        }
        return;
      case "terminate":
        this.#stops.get(victim)?.abort("terminate");
        return;
      case "freeze":
        victim.freeze();
        until(() => this.#thaw(victim));
        return;
      case "cut-requests":
      case "cut-answers":
        this.#network.cuts.set(victim, kind === "cut-requests" ? "requests" : "answers");
        until(() => this.#network.cuts.delete(victim));
        return;
      case "database-away":
      case "history-away":
        this.#takeAway(kind, until);
        return;
      case "step-clock":
        victim.clock.step(this.#random.between(-20_000, 20_000));
        return;
      case "step-database":
        this.#databaseStepMs += this.#random.between(-1_500, 1_500);
        return;
    }
  }

  #takeAway(kind: "database-away" | "history-away", until: (undo: () => void) => void): void {
    const flag = kind === "database-away" ? "databaseAway" : "historyAway";
    this.#network[flag] = true;
    until(() => {
      this.#network[flag] = false;
      this.trace.note(null, null, () => `${kind}: back`);
    });
  }

  /** Dead for so long; its restart is as late. */
  #stopFor(process: SimProcess, lastsMs: number): void {
    const { name } = process;
    const kind = this.#kinds.get(process);
    if (kind === undefined) return;
    process.kill();
    this.#living.delete(name);
    this.trace.note(null, null, () => `${name} DIES for ${Math.round(lastsMs)} ms`);
    const healsInMs = this.scenario.healMs - this.queue.nowMs;
    this.#restart(kind, name, Math.min(lastsMs, Math.max(0, healsInMs)));
  }

  #all(kind: Kind): SimProcess[] {
    return [...this.#living.values()].filter((one) => this.#kinds.get(one) === kind);
  }

  #thaw(process: SimProcess): void {
    if (!process.frozen) return;
    this.trace.note(null, null, () => `${process.name} goes on`);
    process.thaw();
  }

  #heal(): void {
    this.trace.note(null, null, () => "all faults stop");
    this.#healed = true;
    this.#network.faults = NO_FAULTS;
    this.#network.databaseAway = false;
    this.#network.historyAway = false;
    this.#network.cuts.clear();
    this.#endpoints.healed = true;
    for (const process of this.#living.values()) this.#thaw(process);
    for (const [name, kind] of this.#wanted) this.#restart(kind, name, RESTART_MS);
    this.ledger.punctualFromMs = this.databaseNowMs() + punctualAfterMs(this.scenario.disasters);
    // Where executors go on dying, those that wait for them are late.
    this.ledger.lateMsMax = this.scenario.poison ? Number.POSITIVE_INFINITY : LATE_MS_MAX;
    this.#resumeSome().then(
      () => this.#look(),
      (error: unknown) => this.#giveUp(error),
    );
  }

  /** Once a second: whether all has come to its end. */
  #look(): void {
    if (!this.#isOverdue() && !this.#isQuiet()) {
      this.queue.schedule(1_000, () => this.#look());
      return;
    }
    this.#conclude().then(
      () => {
        this.#over = true;
      },
      (error: unknown) => this.#giveUp(error),
    );
  }

  #isOverdue(): boolean {
    const { endMs, limits } = this.scenario;
    const behindMs = this.queue.nowMs - endMs;
    if (limits.length === 0) return behindMs > ENDS_WITHIN_MS;
    const idleMs = this.queue.nowMs - Math.max(endMs, this.ledger.lastCallMs);
    return idleMs > ENDS_WITHIN_MS || behindMs > LIMITED_ENDS_WITHIN_MS;
  }

  #giveUp(error: unknown): void {
    this.ledger.violate("a verb failed though nothing fails", told(error), null);
    this.#over = true;
  }

  #isQuiet(): boolean {
    if (this.queue.nowMs < this.scenario.endMs) return false;
    const { tasks, jobs } = this.#shards.tables;
    for (const { status, nextRunAtMs } of tasks.values())
      if (status === "active" && nextRunAtMs !== null) return false;
    for (const { status } of jobs.values()) if (!isFinished(status)) return false;
    return true;
  }

  /** Reads every task's history once more, and holds it against what must be there. */
  async #conclude(): Promise<void> {
    const process = new SimProcess("last reader", this.queue, { skewMs: 0, rate: 1, earlyMs: 0 });
    const deps = this.#depsOf(process, this.#random, new AbortController().signal);
    const { tables } = this.#shards;
    for (const taskId of tables.jobsBelow.keys())
      this.ledger.violate("a change has not reached all jobs", "", null, taskId);
    const readers = { ...deps, logger: SILENT };
    for (const task of [...tables.tasks.values()]) {
      const seen = await readHistoryOf(readers, task.tenantId, task.id, 200);
      if (seen === null) throw new Error("nothing fails any more, and history cannot be read");
      checkEnd({ ledger: this.ledger, task, seen, nowMs: this.databaseNowMs() });
    }
  }

  /** Tasks that are paused go on, as users ask when all is well again. */
  async #resumeSome(): Promise<void> {
    const process = new SimProcess("support", this.queue, { skewMs: 0, rate: 1, earlyMs: 0 });
    const deps = this.#depsOf(process, this.#random, new AbortController().signal);
    for (const { id, tenantId, status } of [...this.#shards.tables.tasks.values()])
      if (status === "paused" && this.#random.chance(0.5))
        await resumeTask({ ...deps, retention: this.scenario.retention }, tenantId, id);
  }
}

function told(error: unknown): string {
  return error instanceof Error
    ? (error.stack ?? `${error.name}: ${error.message}`)
    : String(error);
}
