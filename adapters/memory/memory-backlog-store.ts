import { PRIORITIES, type Priority, priorityOfQueue } from "#core/domain/queue.ts";
import type { Backlog, BacklogStore, PriorityBacklog } from "#core/ports/backlog-store.ts";
import type { MemoryTables } from "./memory-tables.ts";

/** How much of a shard in memory waits. */
export class MemoryBacklogStore implements BacklogStore {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  measure(countedMax: number, soonMs: number, soonCountedMax: number): Promise<Backlog> {
    return this.#tables.transact("measure", (nowMs) => {
      const { jobs } = this.#tables;
      const counted = (many: readonly unknown[]) => Math.min(many.length, countedMax);
      const waiting = [...jobs.values()].filter(
        ({ status, dueAtMs }) => status === "waiting" && dueAtMs <= nowMs,
      );
      const priorities = PRIORITIES.map((priority): [Priority, PriorityBacklog] => {
        const due = this.#pendingAt(priority, nowMs);
        const unmade = this.#unmadeAt(priority, nowMs);
        return [
          priority,
          {
            due: counted(due),
            oldestDueAtMs: earliest(due),
            unmadeSinceMs: earliest(unmade),
          },
        ];
      });
      return {
        nowMs,
        priorities: new Map(priorities),
        dueSoon: Math.min(
          PRIORITIES.flatMap((priority) => this.#pendingAt(priority, nowMs + soonMs)).length,
          soonCountedMax,
        ),
        limitsWaiting: counted(waiting),
        liveWorkers: this.#tables.liveWorkers(nowMs).length,
      };
    });
  }

  #pendingAt(of: Priority, untilMs: number): number[] {
    return [...this.#tables.jobs.values()]
      .filter(({ status, queue }) => status === "pending" && priorityOfQueue(queue) === of)
      .map(({ dueAtMs }) => dueAtMs)
      .filter((dueAtMs) => dueAtMs <= untilMs);
  }

  #unmadeAt(of: Priority, nowMs: number): number[] {
    return [...this.#tables.tasks.values()]
      .filter(({ status, priority }) => status === "active" && priority === of)
      .flatMap(({ nextRunAtMs }) => nextRunAtMs ?? [])
      .filter((nextRunAtMs) => nextRunAtMs <= nowMs);
  }
}

function earliest(instants: readonly number[]): number | null {
  return instants.length === 0 ? null : instants.reduce((a, b) => Math.min(a, b));
}
