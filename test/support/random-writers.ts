/** What the API does to tasks, at random and several at once, for as long as a race test asks. */
import assert from "node:assert/strict";
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { parseTenantId } from "#core/domain/ids.ts";
import { PRIORITIES } from "#core/domain/queue.ts";
import { RETRY_DEFAULT } from "#core/domain/retry-policy.ts";
import { createTask } from "#core/services/tasks/create-task.ts";
import { deleteTask } from "#core/services/tasks/delete-task.ts";
import { editTask } from "#core/services/tasks/edit-task.ts";
import { pauseTask } from "#core/services/tasks/pause-task.ts";
import { resumeTask } from "#core/services/tasks/resume-task.ts";
import { runTask } from "#core/services/tasks/run-task.ts";
import type { TaskServiceDeps, TaskSettings } from "#core/services/tasks/task-settings.ts";

const WRITERS = 8;
const TASKS = 40;

interface Live {
  readonly id: TaskId;
  readonly tenantId: TenantId;
}

/** Makes tasks that run every few seconds and, once they do, works on them for `durationMs`. Returns how often each verb was done. */
export async function writeAtRandom(
  deps: TaskServiceDeps,
  sinkUrl: string,
  durationMs: number,
  running: () => Promise<void>,
): Promise<Record<string, number>> {
  const live: Live[] = [];
  const done: Record<string, number> = {};
  for (let i = 0; i < TASKS; i++) live.push(await create(deps, sinkUrl, i));
  await running();
  const endMs = performance.now() + durationMs;
  let made = TASKS;
  const write = async () => {
    while (performance.now() < endMs) {
      const at = Math.floor(Math.random() * live.length);
      const { id, tenantId } = live[at] as Live;
      const verb = pick();
      done[verb] = (done[verb] ?? 0) + 1;
      switch (verb) {
        case "pause":
          await pauseTask(deps, tenantId, id);
          break;
        case "resume":
          await resumeTask(deps, tenantId, id);
          break;
        case "run":
          assert.notEqual((await runTask(deps, tenantId, id, null)).kind, "invalid");
          break;
        case "edit":
          await edit(deps, { tenantId, id }, sinkUrl);
          break;
        case "recreate":
          await deleteTask(deps, tenantId, id, null);
          live[at] = await create(deps, sinkUrl, made++);
          break;
      }
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return done;
}

type Verb = "pause" | "resume" | "run" | "edit" | "recreate";

function pick(): Verb {
  const verbs: readonly Verb[] = ["pause", "resume", "resume", "run", "edit", "edit", "recreate"];
  return verbs[Math.floor(Math.random() * verbs.length)] as Verb;
}

async function create(deps: TaskServiceDeps, sinkUrl: string, i: number): Promise<Live> {
  const tenantId = parseTenantId(`mixed-${i % 7}`) as TenantId;
  const request = { method: "POST", headers: {}, body: null, bodyBase64: null };
  const settings: TaskSettings = {
    name: `mixed ${i}`,
    description: null,
    tags: [],
    schedule: { type: "every", seconds: 1 + (i % 3), anchor: "1970-01-01T00:00:00.000Z" },
    priority: PRIORITIES[i % 4] ?? "normal",
    catchUp: "all",
    startAtMs: null,
    endAtMs: null,
    timeoutMs: 30_000,
    retry: RETRY_DEFAULT,
    request: { ...request, url: `${sinkUrl}/ok/${i}` },
  };
  const created = await createTask(deps, tenantId, settings);
  assert(created.kind === "created");
  return { id: created.created.task.id, tenantId };
}

/** A new URL, or a new schedule, or both: each takes another path through the store. */
async function edit(deps: TaskServiceDeps, { tenantId, id }: Live, sinkUrl: string): Promise<void> {
  const kind = Math.floor(Math.random() * 3);
  await editTask(deps, tenantId, id, null, ({ task, version }) => ({
    kind: "ok",
    settings: {
      ...task,
      ...version,
      request:
        kind === 0
          ? version.request
          : { ...version.request, url: `${sinkUrl}/ok/${Math.random()}` },
      schedule:
        kind === 1
          ? task.schedule
          : {
              type: "every",
              seconds: 1 + Math.floor(Math.random() * 5),
              anchor: "1970-01-01T00:00:00.000Z",
            },
    },
  }));
}
