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
  type WaitingRange,
} from "./statements/backlog.ts";
import type { Database } from "./transaction.ts";

export function backlogStore(database: Database): BacklogStore {
  return { measure: (countedMax, soonMs) => measure(database, countedMax, soonMs) };
}

type Head = WaitingRange & { readonly dueAtMs: number };

async function measure(database: Database, countedMax: number, soonMs: number): Promise<Backlog> {
  const [row = []] = await database.select(selectBacklogHeadsSql(soonMs), BACKLOG_MS);
  const [now, liveWorkers, ...cells] = row;
  const nowMs = readInstant(now);
  const heads = WAITING_RANGES.flatMap((range, at): Head[] => {
    const head = cells[PRIORITIES.length + at] ?? null;
    return head === null ? [] : [{ ...range, dueAtMs: readInstant(head) }];
  });
  const ofPriority = (priority: Priority) =>
    heads.filter(
      ({ status, queue }) => status === "pending" && priorityOfQueue(queue) === priority,
    );
  const isDue = ({ dueAtMs }: Head) => dueAtMs <= nowMs;
  const limited = heads.filter((head) => head.status === "waiting" && isDue(head));
  const counted = await countEach(database, countedMax, [
    ...PRIORITIES.flatMap((priority) => [
      { ranges: ofPriority(priority).filter(isDue), aheadMs: 0 },
      { ranges: ofPriority(priority), aheadMs: soonMs },
    ]),
    { ranges: limited, aheadMs: 0 },
  ]);
  const priorities = PRIORITIES.map((priority, rank): [Priority, PriorityBacklog] => {
    const dueHeads = ofPriority(priority).filter(isDue);
    return [
      priority,
      {
        due: counted[2 * rank] ?? 0,
        oldestDueAtMs:
          dueHeads.length === 0 ? null : Math.min(...dueHeads.map(({ dueAtMs }) => dueAtMs)),
        soon: counted[2 * rank + 1] ?? 0,
        unmadeSinceMs: readInstantOrNull(cells[rank] ?? null),
      },
    ];
  });
  return {
    nowMs,
    priorities: new Map(priorities),
    limitsWaiting: counted.at(-1) ?? 0,
    liveWorkers: Number(liveWorkers),
  };
}

/** One statement for all that have anything to count. */
async function countEach(
  database: Database,
  max: number,
  counts: readonly Count[],
): Promise<number[]> {
  const some = counts.filter(({ ranges }) => ranges.length > 0);
  if (some.length === 0) return counts.map(() => 0);
  const [row = []] = await database.select(countBacklogSql(some, max), BACKLOG_MS);
  const answers = row.map(Number);
  return counts.map(({ ranges }) => (ranges.length === 0 ? 0 : (answers.shift() ?? 0)));
}
