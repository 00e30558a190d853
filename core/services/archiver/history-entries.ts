/**
 * Makes of jobs what history keeps of them. Thousands of jobs share a version: what history keeps of its request (a long body is
 * a hash) is made once and remembered, and versions, up to 256 KB each, are in memory only a few at a time.
 */
import { forgetOldest } from "#core/domain/bounded-cache.ts";
import {
  type HistoryEntry,
  type HistoryRequest,
  historyEntryOf,
  historyRequestOf,
  type Sha256,
} from "#core/domain/history.ts";
import type { JobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { ARCHIVE_REQUESTS_KEPT, ARCHIVE_VERSIONS_AT_ONCE } from "#core/domain/limits.ts";
import { requestOfJob } from "#core/domain/request-of-job.ts";
import { type TaskVersion, versionKey } from "#core/domain/task.ts";
import type { TaskStore } from "#core/ports/task-store.ts";

type Requests = Map<JobId, HistoryRequest | null>;

export class HistoryEntries {
  readonly #tasks: Pick<TaskStore, "loadVersions">;
  readonly #sha256: Sha256;
  /** Of versions as they are, without a payload; the oldest first. Null: the version is gone. */
  readonly #requests = new Map<string, HistoryRequest | null>();

  constructor(tasks: Pick<TaskStore, "loadVersions">, sha256: Sha256) {
    this.#tasks = tasks;
    this.#sha256 = sha256;
  }

  /** In the order of `jobs`; the request is null where its version is gone. */
  async entriesOf(jobs: readonly Job[]): Promise<HistoryEntry[]> {
    const requests: Requests = new Map();
    const toLoad = new Map<string, Job[]>();
    for (const job of jobs) {
      const key = versionKey(job.taskId, job.taskVersion);
      const known = job.payload === null ? this.#requests.get(key) : undefined;
      if (known !== undefined) requests.set(job.id, known);
      else toLoad.set(key, [...(toLoad.get(key) ?? []), job]);
    }
    const groups = [...toLoad];
    for (let from = 0; from < groups.length; from += ARCHIVE_VERSIONS_AT_ONCE)
      await this.#load(groups.slice(from, from + ARCHIVE_VERSIONS_AT_ONCE), requests);
    return jobs.map((job) => historyEntryOf(job, requests.get(job.id) ?? null, this.#sha256));
  }

  /** Loads one version for each group and makes the requests of its jobs. */
  async #load(groups: readonly (readonly [string, Job[]])[], requests: Requests): Promise<void> {
    const keys = groups.flatMap(([, [job]]) =>
      job === undefined ? [] : [{ taskId: job.taskId, requestVersion: job.taskVersion }],
    );
    const versions = new Map<string, TaskVersion>();
    for (const version of await this.#tasks.loadVersions(keys))
      versions.set(versionKey(version.taskId, version.requestVersion), version);
    for (const [key, jobs] of groups) {
      const version = versions.get(key);
      const plain = version === undefined ? null : historyRequestOf(version.request, this.#sha256);
      this.#keep(key, plain);
      for (const job of jobs) {
        const own =
          job.payload === null || version === undefined
            ? plain
            : historyRequestOf(requestOfJob(job, version.request), this.#sha256);
        requests.set(job.id, own);
      }
    }
  }

  #keep(key: string, request: HistoryRequest | null): void {
    this.#requests.set(key, request);
    forgetOldest(this.#requests, ARCHIVE_REQUESTS_KEPT);
  }
}
