/** Tasks for the tests and the bench of call limits: made through the service, due once. */
import assert from "node:assert/strict";
import { systemClock } from "#adapters/system/clock.ts";
import { systemRandom } from "#adapters/system/random.ts";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { BULK_TASKS_MAX } from "#core/domain/limits.ts";
import type { Priority } from "#core/domain/queue.ts";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import type { Shards } from "#core/ports/shards.ts";
import { createTasks } from "#core/services/tasks/create-tasks.ts";
import type { TaskServiceDeps, TaskSettings } from "#core/services/tasks/task-settings.ts";
import { type OwnProcess, startWorker } from "./worker-process.ts";

const TASKS_MAX = 1_000_000;
const ENDED_MS = 10_000;
const STARTED_MS = 20_000;

export function depsOf(shards: Shards): TaskServiceDeps {
  const retention = { succeededMs: 3_600_000, endedMs: 86_400_000 };
  return { shards, clock: systemClock, random: systemRandom, retention };
}

export interface Load {
  readonly tenantId: TenantId;
  readonly url: string;
  readonly count: number;
  /** When they are due, evenly spread over `spreadMs`. */
  readonly atMs: number;
  readonly spreadMs?: number;
  readonly priority?: Priority;
}

/** Makes `count` tasks, each due once; answers their ids. */
export async function addLoad(deps: TaskServiceDeps, load: Load): Promise<TaskId[]> {
  const { tenantId, url, count, atMs, spreadMs = 0, priority = "normal" } = load;
  const quotas = { ...QUOTAS_DEFAULT, tasksMax: TASKS_MAX };
  const all = Array.from({ length: count }, (_, i): TaskSettings => {
    const at = new Date(atMs + Math.floor((i * spreadMs) / count)).toISOString();
    return {
      ...{ name: null, description: null, tags: [], priority, catchUp: "all" },
      ...{ schedule: { type: "at", at }, startAtMs: null, endAtMs: null, timeoutMs: 30_000 },
      request: { method: "POST", url: `${url}/${i}`, headers: {}, body: null, bodyBase64: null },
      retry: {
        ...{ maxAttempts: 20, initialDelaySeconds: 1, factor: 1 },
        ...{ maxDelaySeconds: 5, jitter: 0 },
      },
    };
  });
  const ids: TaskId[] = [];
  for (let from = 0; from < count; from += BULK_TASKS_MAX) {
    const part = all.slice(from, from + BULK_TASKS_MAX);
    const made = await createTasks(deps, tenantId, part, quotas, null);
    assert(made.kind === "made", made.kind);
    for (const result of made.results) {
      assert(result.kind === "created", result.kind);
      ids.push(result.created.task.id);
    }
  }
  return ids;
}

interface Database {
  readonly mysqlUrl: string;
  readonly databasePrefix: string;
}

/** Executors that are killed and started anew. On leaving they are killed. */
export class Executors implements AsyncDisposable {
  readonly #database: Database;
  readonly #all: OwnProcess[] = [];
  kills = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  get running(): readonly OwnProcess[] {
    return this.#all;
  }

  async start(count: number, database: Database = this.#database): Promise<void> {
    const started = Array.from({ length: count }, () => startWorker("executor", database));
    this.#all.push(...started);
    await Promise.all(started.map((one) => one.line('"started"', STARTED_MS)));
  }

  /** Kills one, any one, and starts another in its place. */
  async killOne(): Promise<void> {
    const at = Math.floor(Math.random() * this.#all.length);
    const [victim] = this.#all.splice(at, 1);
    assert(victim !== undefined, "there is one to kill");
    victim.signal("SIGKILL");
    await victim.ended(ENDED_MS);
    this.kills++;
    await this.start(1);
  }

  /** Kills at random, every `everyMs` on average, until `stop`. */
  async killAtRandom(everyMs: number, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await systemClock.sleep(everyMs * (0.5 + Math.random()), stop);
      if (!stop.aborted) await this.killOne();
    }
  }

  /** SIGTERM to one: it must end by itself, well. */
  async stopOne(): Promise<void> {
    const one = this.#all.shift();
    assert(one !== undefined, "there is one to stop");
    one.signal("SIGTERM");
    assert.deepEqual(await one.ended(STARTED_MS), { code: 0, signal: null }, one.lines.join("\n"));
  }

  async stopAll(): Promise<void> {
    while (this.#all.length > 0) await this.stopOne();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#all) await one[Symbol.asyncDispose]();
  }
}
