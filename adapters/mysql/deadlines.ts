/** Every wait of the adapter ends. In ms. */
import { assert } from "#core/domain/assert.ts";
import { CLAIM_DEADLINE_MS } from "#core/domain/limits.ts";

export const CONNECT_MS = 2_000;
/** For a free connection, a new one included. */
export const ACQUIRE_MS = 2_000;
export const STATEMENT_MS = 5_000;
/** From BEGIN to the answer of COMMIT. */
export const TRANSACTION_MS = 10_000;
/** For a group of a task's jobs in a transaction of its own: the request that waits for many such has a deadline too. */
export const CHANGE_JOBS_MS = 5_000;
export const POLL_MS = 2_000;
/** For a look that nobody waits for: it must not add to what a database that is slow has to do. */
export const BACKLOG_MS = 2_000;
export const CLAIM_MS = CLAIM_DEADLINE_MS;
/** Waits for a COMMIT under way, whose holder the server may still have to give up: asked again until then, and polls come between. */
export const ADOPT_MS = 1_000;
export const CLOSE_MS = 2_000;
/** Shorter than the server's wait_timeout, so that it is never the server that closes an idle connection under us. */
export const IDLE_MS = 15_000;

/** Server settings, in its unit: seconds. A holder that stalls inside a transaction keeps its locks no longer than this. */
export const WAIT_TIMEOUT_SECONDS = 20;
export const LOCK_WAIT_SECONDS = 3;

/** The server's max_allowed_packet should be this at least: a bulk request of 4 MB, written as SQL, with room to spare. */
export const PACKET_BYTES_MIN = 16 * 1024 * 1024;

/** How often a transaction that the server gave up (deadlock, lock wait) is run again, and the longest pause before that. */
export const RERUNS_MAX = 5;
export const RERUN_PAUSE_MS_MAX = 50;

assert(IDLE_MS < WAIT_TIMEOUT_SECONDS * 1_000, "the client closes idle connections first");
assert(
  LOCK_WAIT_SECONDS * 1_000 < STATEMENT_MS,
  "the server reports a lock wait before the statement's deadline cuts it",
);
