/** Tenants: they make tasks, and change their minds about them, through the services that the API calls. */
import { endpointKey, type LimitKey, tenantKey } from "#core/domain/call-limit.ts";
import { OperatingError } from "#core/domain/errors.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import type { JobStatus, Retention } from "#core/domain/job.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import type { Schedule } from "#core/domain/schedule.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { Shards } from "#core/ports/shards.ts";
import { cancelJob } from "#core/services/jobs/cancel-job.ts";
import { retryDeadLetters } from "#core/services/jobs/retry-dead-letters.ts";
import { retryJob } from "#core/services/jobs/retry-job.ts";
import { createTask } from "#core/services/tasks/create-task.ts";
import { deleteTask } from "#core/services/tasks/delete-task.ts";
import { editTask } from "#core/services/tasks/edit-task.ts";
import { pauseTask } from "#core/services/tasks/pause-task.ts";
import { resumeTask } from "#core/services/tasks/resume-task.ts";
import { runTask } from "#core/services/tasks/run-task.ts";
import type { TaskSettings } from "#core/services/tasks/task-settings.ts";
import type { Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { ENDPOINTS, type Endpoint } from "./sim-endpoint.ts";
import { EPOCH_MS } from "./sim-process.ts";

export const TENANTS = ["acme", "umbra"] as readonly string[] as readonly TenantId[];

export interface UserDeps {
  readonly shards: Shards;
  readonly history: HistoryStore;
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly logger: Logger;
  readonly retention: Retention;
}

/** What users know of, all together. */
export interface Known {
  readonly tasks: { readonly id: TaskId; readonly tenantId: TenantId }[];
  /** Jobs that are there now, of one status or any. */
  jobs(taskId: TaskId, status?: JobStatus): readonly JobId[];
}

/** Those that leave the task as it is, or end it. */
const PLAIN = ["run", "run", "cancel", "cancel", "create", "delete", "limit"] as const;
const VERBS = [
  ...PLAIN,
  ...(["pause", "pause", "resume", "resume", "request", "schedule", "priority"] as const),
  ...(["retry", "retry-all", "pause-resume"] as const),
] as const;
const WISHES: Record<Scenario["wishes"], readonly (typeof VERBS)[number][]> = {
  any: VERBS,
  pauses: [...VERBS, ...(["pause", "resume", "pause-resume", "pause-resume"] as const)],
  runs: [...PLAIN, "retry", "retry-all"],
  retries: [...PLAIN, ...(["retry", "retry", "retry", "retry-all", "retry-all"] as const)],
};

export function drawSettings(scenario: Scenario, random: SeededRandom, nowMs: number) {
  const settings: TaskSettings = {
    name: null,
    description: null,
    tags: [],
    schedule: drawSchedule(random, nowMs),
    priority: random.pick(PRIORITIES),
    catchUp: random.pick(scenario.catchUps),
    startAtMs: null,
    endAtMs: EPOCH_MS + scenario.endMs,
    request: drawRequest(random),
    timeoutMs: random.pick([1_000, 2_000, 5_000]),
    retry: {
      maxAttempts: random.between(1, 4),
      initialDelaySeconds: 1,
      factor: random.pick([1, 2]),
      maxDelaySeconds: 4,
      jitter: 0.2,
    },
  };
  return settings;
}

/** The same task, run once, and fatal to whoever calls it. */
export function poisonOf(settings: TaskSettings): TaskSettings {
  const at = new Date(EPOCH_MS + 3_000).toISOString();
  const url = `${originOf("poison")}/`;
  return { ...settings, schedule: { type: "at", at }, request: { ...settings.request, url } };
}

function drawSchedule(random: SeededRandom, nowMs: number): Schedule {
  const kind = random.unit();
  if (kind < 0.15) {
    const atMs = nowMs + random.between(-2_000, 25_000);
    return { type: "at", at: new Date(atMs).toISOString() };
  }
  const seconds = random.pick([2, 3, 4, 5, 6, 10, 15, 20]);
  if (kind < 0.25) {
    return { type: "cron", expression: `*/${seconds} * * * * *`, timezone: "Etc/UTC" };
  }
  return { type: "every", seconds, anchor: "1970-01-01T00:00:00.000Z" };
}

/** Null: of all of the tenant's calls. */
export function limitKeyOf(tenantId: TenantId, endpoint: Endpoint | null): LimitKey {
  const key = endpoint === null ? tenantKey(tenantId) : endpointKey(tenantId, originOf(endpoint));
  if (key === null) throw new Error("an endpoint of the simulation has a key");
  return key;
}

function originOf(endpoint: Endpoint): string {
  return `https://${endpoint}.example`;
}

function drawRequest(random: SeededRandom): TaskSettings["request"] {
  const kind = random.pick([...ENDPOINTS, ...(["ok", "ok", "flaky", "slow"] as const)]);
  const url = `${originOf(kind)}/${random.between(1, 1e9)}`;
  return { method: "POST", url, headers: {}, body: null, bodyBase64: null };
}

/** One wish of one user, carried out once: what fails, they leave alone. */
export async function askOnce(deps: UserDeps, known: Known, scenario: Scenario): Promise<void> {
  const { random, clock } = deps;
  try {
    const verb = random.pick(WISHES[scenario.wishes]);
    if (verb === "create" || known.tasks.length === 0) {
      const tenantId = random.pick(TENANTS);
      const settings = drawSettings(scenario, random, clock.nowMs());
      const made = await createTask(deps, tenantId, settings);
      if (made.kind === "created") known.tasks.push({ id: made.created.task.id, tenantId });
      return;
    }
    await changeOne(deps, known, scenario, verb);
  } catch (error) {
    if (!(error instanceof OperatingError)) throw error;
  }
}

async function changeOne(
  deps: UserDeps,
  known: Known,
  scenario: Scenario,
  verb: Exclude<(typeof VERBS)[number], "create">,
): Promise<void> {
  const { random } = deps;
  const { id, tenantId } = random.pick(known.tasks);
  switch (verb) {
    case "pause":
      await pauseTask(deps, tenantId, id);
      return;
    case "pause-resume":
      await pauseTask(deps, tenantId, id);
      await deps.clock.sleep(1_500 * random.unit());
      await resumeTask(deps, tenantId, id);
      return;
    case "resume":
      await resumeTask(deps, tenantId, id);
      return;
    case "run":
      await runTask(deps, tenantId, id, random.chance(0.5) ? null : { body: "by hand" });
      return;
    case "delete":
      if (random.chance(0.5)) await deleteTask(deps, tenantId, id, null);
      return;
    case "limit": {
      if (scenario.limits.length === 0 || random.chance(0.5)) return;
      const { endpoint } = random.pick(scenario.limits);
      const limit = { concurrency: random.pick([null, 1, 4]), perSecond: random.pick([null, 2]) };
      await deps.shards.forTenant(tenantId).limits.put(limitKeyOf(tenantId, endpoint), limit);
      return;
    }
    case "request":
    case "schedule":
    case "priority":
      await edit(deps, tenantId, id, drawEdit(deps, scenario, verb));
      return;
    case "cancel":
    case "retry": {
      const jobs = known.jobs(id, verb === "retry" && random.chance(0.8) ? "dead" : undefined);
      if (jobs.length === 0) return;
      if (verb === "cancel") await cancelJob(deps, tenantId, random.pick(jobs));
      else await retryJob(deps, tenantId, random.pick(jobs), null);
      return;
    }
    case "retry-all": {
      const filter = { taskId: null, fromMs: null, toMs: null };
      await retryDeadLetters(deps, tenantId, filter, { limit: 100, perSecond: 5 });
      return;
    }
  }
}

function drawEdit(
  { random, clock }: UserDeps,
  scenario: Scenario,
  verb: "request" | "schedule" | "priority",
): Partial<TaskSettings> {
  const { schedule, priority, request } = drawSettings(scenario, random, clock.nowMs());
  if (verb === "request") return { request };
  return verb === "schedule" ? { schedule } : { priority };
}

async function edit(
  deps: UserDeps,
  tenantId: TenantId,
  id: TaskId,
  change: Partial<TaskSettings>,
): Promise<void> {
  await editTask(deps, tenantId, id, null, ({ task, version }) => {
    const { name, description, tags, schedule, priority, catchUp, startAtMs, endAtMs } = task;
    const { request, timeoutMs, retry } = version;
    const current = { name, description, tags, schedule, priority, catchUp, startAtMs, endAtMs };
    return { kind: "ok", settings: { ...current, request, timeoutMs, retry, ...change } };
  });
}
