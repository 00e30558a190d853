import { MemoryControlStore } from "#adapters/memory/memory-control-store.ts";
import { openMemoryShards } from "#adapters/memory/memory-shards.ts";
import type { JobId, TenantId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { backlogStoreContract } from "./backlog-store.contract.ts";
import type { ContractStore } from "./contract-store.ts";
import { controlStoreContract } from "./control-store.contract.ts";
import { jobStoreContract } from "./job-store.contract.ts";
import { limitStoreContract } from "./limit-store.contract.ts";
import { JOBS_AT_ONCE, manyJobsContract } from "./many-jobs.contract.ts";
import { secretStoreContract } from "./secret-store.contract.ts";
import { taskStoreContract } from "./task-store.contract.ts";
import { workerStoreContract } from "./worker-store.contract.ts";

/** Goes on by a millisecond at every look, so that no suite leans on two verbs at one instant. */
function tickingClock() {
  let nowMs = Date.UTC(2026, 9, 25, 0, 59, 59, 990);
  return { nowMs: () => nowMs++ };
}

function deadOf(jobs: ReadonlyMap<JobId, Job>, tenantId: TenantId): JobId[] {
  const dead = [...jobs.values()].filter(
    (job) => job.tenantId === tenantId && job.status === "dead",
  );
  return dead.map(({ id }) => id);
}

const open = () => openAtOnce();

async function openAtOnce(jobsAtOnce = Number.POSITIVE_INFINITY): Promise<ContractStore> {
  const shards = openMemoryShards({ clock: tickingClock(), jobsAtOnce });
  const [shard] = shards.all();
  if (shard === undefined) throw new Error("there is one shard");
  const { jobs, workers } = shards.tables;
  return {
    shard,
    putJob: async (job) => {
      jobs.set(job.id, job);
    },
    putFencedAt: async (workerId, fencedAtMs) => {
      workers.set(workerId, { leaseUntilMs: fencedAtMs, fencedAtMs });
    },
    listDeadLetters: async (tenantId) => deadOf(jobs, tenantId),
    listLetters: async (tenantId) => deadOf(jobs, tenantId),
    listLimited: async () =>
      [...jobs.values()]
        .filter(({ status }) => status === "waiting")
        .map(({ id, limitKey, queue, dueAtMs }) => ({ id, limitKey, queue, dueAtMs }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
    close: () => shards.close(),
  };
}

taskStoreContract("memory", open);
manyJobsContract("memory", () => openAtOnce(JOBS_AT_ONCE));
jobStoreContract("memory", open);
workerStoreContract("memory", open);
limitStoreContract("memory", open);
backlogStoreContract("memory", open);
secretStoreContract("memory", open);
controlStoreContract("memory", async () => ({
  control: new MemoryControlStore(tickingClock()),
  close: async () => {},
}));
