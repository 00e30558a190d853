import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { eventually } from "#test/support/eventually.ts";

/** The table of transactions is a snapshot, renewed only when nobody has read it for 100 ms. */
const SNAPSHOT_MS = 150;
/** Shorter than innodb_lock_wait_timeout: whoever waits has not given up yet. */
const DEADLINE_MS = 2_000;

/** Until a statement of the connection with this id waits for a lock. */
export async function untilWaiting(
  connectionId: number | undefined,
  watcher: Connection,
): Promise<void> {
  await eventually(async () => {
    await setTimeout(SNAPSHOT_MS);
    const [rows] = await watcher.query<RowDataPacket[]>(
      "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = ?",
      [connectionId],
    );
    assert.equal(rows.length, 1);
  }, DEADLINE_MS);
}
