/** What the archiver reads and deletes. Between the two it writes the history, while nothing here is locked. */
import { assert } from "#core/domain/assert.ts";
import type { JobId } from "#core/domain/ids.ts";
import type { Job } from "#core/domain/job.ts";
import { ARCHIVE_GROUP_MAX, ARCHIVE_READ_MAX } from "#core/domain/limits.ts";
import type { ArchivedKey, ArchiveRange } from "#core/ports/job-store.ts";
import { readInstant, readJobId } from "./cells.ts";
import { readJob } from "./job-rows.ts";
import {
  ARCHIVE_RANGES,
  countArchivableSql,
  deleteArchivedSql,
  listArchivableSql,
  lockArchivedSql,
  selectArchivableSql,
  selectArchiveHeadsSql,
} from "./statements/archive-jobs.ts";
import type { QueueRange } from "./statements/queue-range.ts";
import type { Database } from "./transaction.ts";

export async function listArchivable(
  database: Database,
  limit: number,
  bytesMax: number,
  without: readonly ArchiveRange[],
): Promise<Job[]> {
  assert(limit > 0 && limit <= ARCHIVE_READ_MAX, "a look at what to archive is bounded");
  const ranges = (await rangesWithWork(database)).filter(
    ({ status, queue }) =>
      !without.some((range) => range.status === status && range.queue === queue),
  );
  if (ranges.length === 0) return [];
  const keys: { id: JobId }[] = [];
  let bytes = 0;
  for (const [id, size] of await database.select(listArchivableSql(ranges, limit))) {
    bytes += Number(size);
    if (bytes > bytesMax && keys.length > 0) break;
    keys.push({ id: readJobId(id) });
  }
  if (keys.length === 0) return [];
  const rows = await database.select(selectArchivableSql(keys));
  const jobs = new Map(rows.map(readJob).map((job) => [job.id, job]));
  return keys.flatMap(({ id }) => jobs.get(id) ?? []);
}

export async function countArchivable(database: Database, max: number): Promise<number> {
  const ranges = await rangesWithWork(database);
  if (ranges.length === 0) return 0;
  const [row] = await database.select(countArchivableSql(ranges, max));
  return Number(row?.[0]);
}

export function deleteArchived(database: Database, keys: readonly ArchivedKey[]): Promise<number> {
  assert(keys.length <= ARCHIVE_GROUP_MAX, "a group to archive is bounded");
  return database.transaction(async (session) => {
    if (keys.length === 0) return 0;
    const rows = await session.select(lockArchivedSql(keys));
    const unchanged = new Set(rows.map((row) => readJobId(row[0])));
    if (unchanged.size === 0) return 0;
    const group = keys.filter(({ id }) => unchanged.has(id));
    const removed = await session.write(deleteArchivedSql(group));
    assert(removed >= unchanged.size, "the archiver deletes the jobs that it has locked");
    return unchanged.size;
  });
}

/** The ranges in which anything waits, the one that waits longest first: none is put off for ever. */
async function rangesWithWork(database: Database): Promise<QueueRange[]> {
  const [heads = []] = await database.select(selectArchiveHeadsSql());
  return ARCHIVE_RANGES.flatMap((range, index) => {
    const head = heads[index] ?? null;
    return head === null ? [] : [{ range, sinceMs: readInstant(head) }];
  })
    .sort((a, b) => a.sinceMs - b.sinceMs)
    .map(({ range }) => range);
}
