/** Requests by (task, request version), which never change: a least-recently-used cache bounded by bytes. */
import type { TaskId } from "#core/domain/ids.ts";
import { VERSION_CACHE_BYTES_MAX } from "#core/domain/limits.ts";
import type { TaskVersion } from "#core/domain/task.ts";
import type { ClaimedJob } from "#core/ports/job-store.ts";
import type { TaskStore } from "#core/ports/task-store.ts";

const OVERHEAD_BYTES = 500;

export class VersionCache {
  readonly #tasks: TaskStore;
  readonly #bytesMax: number;
  readonly #entries = new Map<string, { version: TaskVersion; bytes: number }>();
  #bytes = 0;

  constructor(tasks: TaskStore, bytesMax: number = VERSION_CACHE_BYTES_MAX) {
    this.#tasks = tasks;
    this.#bytesMax = bytesMax;
  }

  /** The versions of `jobs`, in their order, by at most one statement; null where the version does not exist. */
  async versionsOf(jobs: readonly ClaimedJob[]): Promise<(TaskVersion | null)[]> {
    const found = new Map<string, TaskVersion>();
    const missing = new Map<string, { taskId: TaskId; requestVersion: number }>();
    for (const job of jobs) {
      const key = keyOf(job.taskId, job.taskVersion);
      const entry = this.#entries.get(key);
      if (entry === undefined) {
        missing.set(key, { taskId: job.taskId, requestVersion: job.taskVersion });
        continue;
      }
      found.set(key, entry.version);
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    if (missing.size > 0) {
      for (const version of await this.#tasks.loadVersions([...missing.values()])) {
        const key = keyOf(version.taskId, version.requestVersion);
        found.set(key, version);
        this.#keep(key, version);
      }
    }
    return jobs.map((job) => found.get(keyOf(job.taskId, job.taskVersion)) ?? null);
  }

  #keep(key: string, version: TaskVersion): void {
    const bytes = sizeOf(version);
    if (bytes > this.#bytesMax) return;
    this.#entries.set(key, { version, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}

function keyOf(taskId: TaskId, requestVersion: number): string {
  return `${taskId}/${requestVersion}`;
}

/** Bytes in memory, near enough: two a character. */
function sizeOf({ request }: TaskVersion): number {
  const headers = Object.entries(request.headers).reduce((n, [k, v]) => n + k.length + v.length, 0);
  const body = (request.body?.length ?? 0) + (request.bodyBase64?.length ?? 0);
  return OVERHEAD_BYTES + 2 * (request.url.length + headers + body);
}
