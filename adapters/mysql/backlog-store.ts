/** How much of a shard's work waits: which ranges of the queue index have any, then a bounded count of those. */
import { PRIORITIES, type Priority, priorityOfQueue } from "#core/domain/queue.ts";
import type { Backlog, BacklogStore, PriorityBacklog } from "#core/ports/backlog-store.ts";
import { readInstant, readInstantOrNull } from "./cells.ts";
import { BACKLOG_MS } from "./deadlines.ts";
import {
  type Count,
  countBacklogSql,
  selectBacklogHeadsSql,
  WAITING_RANGES,
} from "./statements/backlog.ts";
import type { QueueRange } from "./statements/queue-range.ts";
import type { Database } from "./transaction.ts";

export function backlogStore(database: Database): BacklogStore {
  return {
    measure: (countedMax, soonMs, soonCountedMax) =>
      measure(database, { countedMax, soonMs, soonCountedMax }),
  };
}

type Head = QueueRange & { readonly dueAtMs: number };

interface Bounds {
  readonly countedMax: number;
  readonly soonMs: number;
  readonly soonCountedMax: number;
}

async function measure(
  database: Database,
  { countedMax, soonMs, soonCountedMax }: Bounds,
): Promise<Backlog> {
  const [row = []] = await database.select(selectBacklogHeadsSql(soonMs), BACKLOG_MS);
  const [now, liveWorkers, ...cells] = row;
  const nowMs = readInstant(now);
  const heads = WAITING_RANGES.flatMap((range, at): Head[] => {
    const head = cells[PRIORITIES.length + at] ?? null;
    return head === null ? [] : [{ ...range, dueAtMs: readInstant(head) }];
  });
  const isDue = ({ dueAtMs }: Head) => dueAtMs <= nowMs;
  const pending = heads.filter(({ status }) => status === "pending");
  const due = (priority: Priority) =>
    pending.filter((head) => priorityOfQueue(head.queue) === priority && isDue(head));
  const limited = heads.filter((head) => head.status === "waiting" && isDue(head));
  const [dueSoon = 0, limitsWaiting = 0, ...counted] = await countEach(database, [
    { ranges: pending, aheadMs: soonMs, max: soonCountedMax },
    { ranges: limited, aheadMs: 0, max: countedMax },
    ...PRIORITIES.map((priority) => ({ ranges: due(priority), aheadMs: 0, max: countedMax })),
  ]);
  const priorities = PRIORITIES.map((priority, rank): [Priority, PriorityBacklog] => {
    const dueHeads = due(priority);
    return [
      priority,
      {
        due: counted[rank] ?? 0,
        oldestDueAtMs:
          dueHeads.length === 0 ? null : Math.min(...dueHeads.map(({ dueAtMs }) => dueAtMs)),
        unmadeSinceMs: readInstantOrNull(cells[rank] ?? null),
      },
    ];
  });
  return {
    nowMs,
    priorities: new Map(priorities),
    dueSoon,
    limitsWaiting,
    liveWorkers: Number(liveWorkers),
  };
}

/** One statement for all that have anything to count. */
async function countEach(database: Database, counts: readonly Count[]): Promise<number[]> {
  const some = counts.filter(({ ranges }) => ranges.length > 0);
  if (some.length === 0) return counts.map(() => 0);
  const [row = []] = await database.select(countBacklogSql(some), BACKLOG_MS);
  const answers = row.map(Number);
  return counts.map(({ ranges }) => (ranges.length === 0 ? 0 : (answers.shift() ?? 0)));
}
