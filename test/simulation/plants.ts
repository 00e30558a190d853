/**
 * Bugs planted on purpose, each one that such a system has had somewhere: they try the checkers, not the product. A plant stands
 * between the network and the stores, and does to rows what the bug would have done.
 */
import type { MemoryTables } from "#adapters/memory/memory-tables.ts";
import { StoreRefused } from "#core/domain/errors.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { Job } from "#core/domain/job.ts";
import { BACKSTOP_SLACK_MS } from "#core/domain/limits.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { ClaimedJob, ClaimResult, JobStore } from "#core/ports/job-store.ts";
import type { Shard } from "#core/ports/shards.ts";
import type { TaskStore } from "#core/ports/task-store.ts";

export interface PlantedStores {
  readonly shard: Shard;
  readonly history: HistoryStore;
  readonly tables: MemoryTables;
}

export interface Plant {
  readonly name: string;
  wrap(stores: PlantedStores): Partial<Pick<PlantedStores, "shard" | "history">>;
}

export const PLANTS: readonly Plant[] = [
  {
    name: "no guard in WHERE",
    wrap: withJobs(({ jobs, tables }) => ({
      // The result is written to the row as it is, whoever holds it by now.
      recordResults: (results, retention) =>
        jobs.recordResults(
          results.map((result) => {
            const row = tables.jobs.get(result.id);
            if (row === undefined || row.workerId === null) return result;
            return { ...result, claimNo: row.claimNo, workerId: row.workerId };
          }),
          retention,
        ),
    })),
  },
  {
    name: "a lease that can end before a late job is sent",
    wrap: withJobs(({ jobs, tables }) => ({
      claimDue: async (request) =>
        changeClaimed(tables, await jobs.claimDue(request), (job) => ({
          dueAtMs: job.runAtMs + job.timeoutMs + BACKSTOP_SLACK_MS,
        })),
    })),
  },
  {
    name: "ack before commit",
    wrap: withJobs(({ jobs }) => ({
      // A claim is taken for one before its COMMIT is answered.
      claimDue: async (request) => {
        const result = await jobs.claimDue(request);
        if (result.kind !== "unknown") return result;
        return { kind: "claimed", claimedAtMs: result.claim.claimedAtMs, jobs: result.claim.jobs };
      },
    })),
  },
  {
    name: "a give-back that reuses a fence",
    wrap: withJobs(({ jobs, tables }) => ({
      giveBack: async (held, retention) => {
        const claims = held.map(({ id }) => tables.jobs.get(id)?.workerId ?? null);
        const done = await jobs.giveBack(held, retention);
        for (const [i, { id, workerId, claimNo }] of held.entries()) {
          const row = tables.jobs.get(id);
          if (row !== undefined && row.claimNo === claimNo && claims[i] === workerId)
            tables.jobs.set(id, { ...row, claimNo: claimNo - 1 });
        }
        return done;
      },
    })),
  },
  {
    name: "an archiver that deletes what was just retried",
    wrap: withJobs(({ jobs, tables }) => ({
      deleteArchived: async (keys) => {
        const removed = await jobs.deleteArchived(keys);
        for (const { id } of keys) tables.jobs.delete(id);
        return removed;
      },
    })),
  },
  {
    name: "plain INSERT over a cancelled occurrence",
    wrap: withTasks(({ tasks, tables }) => ({
      // A duplicate key fails the tick, and every tick after it.
      materialize: (bounds, plan) =>
        tasks.materialize(bounds, (due) => {
          const planned = plan(due);
          if (planned.jobs.some(({ id }) => tables.jobs.has(id)))
            throw new StoreRefused("duplicate key");
          return planned;
        }),
    })),
  },
  {
    name: "attempt not counted",
    wrap: withJobs(({ jobs, tables }) => ({
      claimDue: async (request) =>
        changeClaimed(tables, await jobs.claimDue(request), ({ attempt, claimNo }) => ({
          attempt: claimNo === 1 ? attempt : attempt - 1,
        })),
    })),
  },
  {
    name: "a record in place of those before it",
    wrap: withJobs(({ jobs, tables }) => ({
      recordResults: async (results, retention) => {
        const done = await jobs.recordResults(results, retention);
        for (const { id, claimNo, record } of results) {
          const row = tables.jobs.get(id);
          if (row?.attempts[claimNo] !== undefined)
            tables.jobs.set(id, { ...row, attempts: { [claimNo]: record } });
        }
        return done;
      },
    })),
  },
  {
    name: "delete before copy",
    wrap: (stores) => {
      const waiting: HistoryEntry[] = [];
      const { history } = stores;
      return {
        ...withJobs(({ jobs }) => ({
          deleteArchived: async (keys) => {
            const removed = await jobs.deleteArchived(keys);
            await history.write(waiting.splice(0));
            return removed;
          },
        }))(stores),
        history: {
          write: async (entries) => void waiting.push(...entries),
          find: (...args) => history.find(...args),
          listByTask: (...args) => history.listByTask(...args),
          close: () => history.close(),
        },
      };
    },
  },
];

type Verbs<Store> = { readonly [V in keyof Store]?: Store[V] };

function withJobs(
  change: (stores: { jobs: JobStore; tables: MemoryTables }) => Verbs<JobStore>,
): Plant["wrap"] {
  return ({ shard, tables }) => {
    const { jobs } = shard;
    return { shard: { ...shard, jobs: changed(jobs, change({ jobs, tables })) } };
  };
}

function withTasks(
  change: (stores: { tasks: TaskStore; tables: MemoryTables }) => Verbs<TaskStore>,
): Plant["wrap"] {
  return ({ shard, tables }) => {
    const { tasks } = shard;
    return { shard: { ...shard, tasks: changed(tasks, change({ tasks, tables })) } };
  };
}

/** The store with some verbs of its own. */
function changed<Store extends object>(store: Store, verbs: Verbs<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const own = (verbs as Record<PropertyKey, unknown>)[name];
      if (own !== undefined) return own;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** What a claim writes and answers is changed in one way. */
function changeClaimed(
  tables: MemoryTables,
  result: ClaimResult,
  change: (job: ClaimedJob) => Partial<Pick<Job, "attempt" | "dueAtMs">>,
): ClaimResult {
  if (result.kind !== "claimed") return result;
  const jobs = result.jobs.map((job) => {
    const changes = change(job);
    const row = tables.jobs.get(job.id);
    if (row !== undefined) tables.jobs.set(job.id, { ...row, ...changes });
    return { ...job, ...changes };
  });
  return { ...result, jobs };
}
