/** History in Cassandra or Amazon Keyspaces, table jobs_by_task (migrations/cassandra). */
import type { types } from "cassandra-driver";
import { assert } from "#core/domain/assert.ts";
import type { HistoryEntry } from "#core/domain/history.ts";
import type { JobId, TaskId, TenantId } from "#core/domain/ids.ts";
import { HISTORY_WRITES_AT_ONCE } from "#core/domain/limits.ts";
import type { HistoryPage, HistoryStore, MayBegin, OnDurable } from "#core/ports/history-store.ts";
import type { TaskJobsFilter } from "#core/ports/job-store.ts";
import { type CassandraConnection, parseContactPoints } from "./client.ts";
import { isBusy } from "./errors.ts";
import { type ReadPage, readSteps } from "./list-by-task.ts";
import { planSteps } from "./months.ts";
import {
  entryOfRow,
  insertParams,
  keyParams,
  type Statements,
  statementsFor,
  stepParams,
} from "./rows.ts";
import { CassandraSession } from "./session.ts";

export interface HistoryOptions extends CassandraConnection {
  readonly keyspace: string;
  /** How long a read, or the write of one entry, may take altogether. */
  readonly requestTimeoutMs?: number | undefined;
  /** Rows that one `write` has under way at a time. */
  readonly writesAtOnce?: number | undefined;
  /** Epoch ms; nothing is looked for a day later than this. */
  readonly nowMs?: (() => number) | undefined;
}

const REQUEST_TIMEOUT_MS = 1_500;
/** One write's tasks whose partitions were busy for an entry's whole time: it is not about these alone, and the write ends. */
const BUSY_TASKS_MAX = 3;

/**
 * Opens the store without connecting: the first verb does, and every later one again for as long as Cassandra is away.
 * Throws ConfigurationInvalid for malformed contact points.
 */
export function openHistory(options: HistoryOptions): HistoryStore {
  parseContactPoints(options.contactPoints);
  return new CassandraHistory(options);
}

class CassandraHistory implements HistoryStore {
  readonly #session: CassandraSession;
  readonly #statements: Statements;
  readonly #requestTimeoutMs: number;
  readonly #writesAtOnce: number;
  readonly #nowMs: () => number;

  constructor(options: HistoryOptions) {
    this.#requestTimeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    this.#session = new CassandraSession(options, this.#requestTimeoutMs);
    this.#statements = statementsFor(options.keyspace);
    this.#writesAtOnce = options.writesAtOnce ?? HISTORY_WRITES_AT_ONCE;
    this.#nowMs = options.nowMs ?? Date.now;
  }

  async write(
    entries: readonly HistoryEntry[],
    onDurable?: OnDurable,
    mayBegin?: MayBegin,
  ): Promise<void> {
    const busy = new Set<TaskId>();
    const failures: unknown[] = [];
    let next = 0;
    let stopped = false;
    const writeOnes = async () => {
      for (;;) {
        const entry = entries[next++];
        if (entry === undefined || stopped || mayBegin?.() === false) return;
        if (busy.has(entry.job.taskId)) continue;
        try {
          await this.#write(entry);
          onDurable?.(entry);
        } catch (error) {
          failures.push(error);
          if (isBusy(error)) busy.add(entry.job.taskId);
          if (!isBusy(error) || busy.size >= BUSY_TASKS_MAX) stopped = true;
        }
      }
    };
    // Nothing is left under way when the caller hears of the first failure; each write has its own deadline.
    await Promise.all(
      Array.from({ length: Math.min(this.#writesAtOnce, entries.length) }, writeOnes),
    );
    if (failures.length > 0) throw failures[0];
  }

  async #write(entry: HistoryEntry): Promise<void> {
    const params = insertParams(entry, this.#nowMs());
    await this.#session.execute({
      query: this.#statements.insert,
      params,
      deadlineAt: this.#deadlineAt(),
    });
  }

  async find(tenantId: TenantId, jobId: JobId): Promise<HistoryEntry | null> {
    const result = await this.#session.execute({
      query: this.#statements.find,
      params: keyParams(tenantId, jobId),
      fetchSize: 1,
      deadlineAt: this.#deadlineAt(),
    });
    const row: types.Row | undefined = result.rows[0];
    return row === undefined ? null : entryOfRow(tenantId, row);
  }

  async listByTask(
    tenantId: TenantId,
    taskId: TaskId,
    filter: TaskJobsFilter,
    before: JobId | null,
    limit: number,
  ): Promise<HistoryPage> {
    assert(limit > 0, "a page has room for a job");
    const deadlineAt = this.#deadlineAt();
    const readPage: ReadPage = async (step, fetchSize, pageState) => {
      const { rows, pageState: nextPageState } = await this.#session.execute({
        query: this.#statements[step.kind],
        params: stepParams(tenantId, taskId, step),
        fetchSize,
        pageState,
        deadlineAt,
      });
      return { rows, nextPageState: nextPageState ?? undefined };
    };
    const { rows, nextBefore } = await readSteps(readPage, {
      taskId,
      steps: planSteps(taskId, filter, before, this.#nowMs()),
      statuses: filter.statuses,
      limit,
      // Half of the time may go into passing over rows; what was found by then is an answer.
      pauseAt: deadlineAt - this.#requestTimeoutMs / 2,
    });
    return { entries: rows.map((row) => entryOfRow(tenantId, row)), nextBefore };
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  #deadlineAt(): number {
    return performance.now() + this.#requestTimeoutMs;
  }
}
