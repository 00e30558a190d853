/** Bounds, by what they bound, and at the end the relations between them that must hold. A bound of one file alone may stand there instead. */
import { assert } from "./assert.ts";

const KIB = 1024;

// Where tasks live.
export const PARTITIONS = 4096;

// What a tenant may ask for.
export const NAME_LENGTH_MAX = 200;
export const DESCRIPTION_LENGTH_MAX = 2_000;
export const TAGS_MAX = 20;
export const TAG_LENGTH_MAX = 64;
export const URL_BYTES_MAX = 4 * KIB;
export const HEADERS_MAX = 50;
export const HEADER_BYTES_MAX = 8 * KIB;
export const BODY_BYTES_MAX = 256 * KIB;
export const TIMEOUT_MS_MIN = 1_000;
export const TIMEOUT_MS_MAX = 900_000;
export const TIMEOUT_MS_DEFAULT = 30_000;
export const ATTEMPTS_MAX = 20;
export const EVERY_SECONDS_MAX = 366 * 86_400;
export const RETRY_DELAY_MS_MAX = 7 * 86_400_000;
export const PAGE_LIMIT_MAX = 200;
export const PAGE_LIMIT_DEFAULT = 50;
/** Of a page as the answer carries it: JSON text inside of JSON, where each quote and backslash takes one byte more. */
export const PAGE_BYTES_MAX = 4 * KIB * KIB;
/** Of a whole answer in that form: Lambda refuses more than 6 MB. The rest is for headers. */
export const ANSWER_BYTES_MAX = 6 * KIB * KIB - 16 * KIB;
export const UPCOMING_COUNT_MAX = 100;
export const BULK_TASKS_MAX = 200;
export const BULK_BYTES_MAX = 4 * KIB * KIB;

// A tenant's quotas where nobody has set them, and what may be set. A body is never larger than BODY_BYTES_MAX.
export const TASKS_QUOTA_DEFAULT = 10_000;
export const TASKS_QUOTA_MAX = 10_000_000;
export const MIN_INTERVAL_SECONDS_DEFAULT = 1;
export const MIN_INTERVAL_SECONDS_MAX = 366 * 86_400;

// A tenant's weight beside others: the least is one in so many. How many tenants that have one are read, and how often.
export const TENANT_WEIGHT_ONE_IN_MAX = 4;
export const TENANT_WEIGHT_MAX = 8;
export const TENANT_WEIGHTS_MAX = 10_000;
export const TENANT_WEIGHTS_AGAIN_MS = 30_000;

// Access.
export const API_KEY_BYTES = 32;
/** Longer text is no key: it is neither hashed nor looked up. */
export const API_KEY_LENGTH_MAX = 200;
/** Live keys of a tenant with the same scopes: the one in use and the one that replaces it. */
export const LIVE_KEYS_MAX = 2;
/** Keys of a tenant that are listed, revoked ones included. */
export const KEYS_LISTED_MAX = 100;
/** How long a process may take a caller for who it was when it last asked, and for unknown. */
export const PRINCIPAL_KNOWN_MS = 30_000;
export const PRINCIPAL_UNKNOWN_MS = 5_000;
export const PRINCIPALS_KNOWN_MAX = 10_000;
export const PRINCIPALS_UNKNOWN_MAX = 1_000;
/** No request is served later than this after its key was revoked, or its tenant disabled. */
export const KEY_REVOKED_WITHIN_MS = 60_000;

// Secrets.
/** Of a task, headers and credential together; HEADERS_MAX and HEADER_BYTES_MAX hold for plain and secret headers together. */
export const SECRET_BYTES_MAX = 8 * KIB;
/** Of a task's secret headers, those that an edit keeps too, as they are sealed: each is some 50 bytes longer then. */
export const SEALED_HEADERS_BYTES_MAX = HEADER_BYTES_MAX + 64 * HEADERS_MAX;
/** Of a header whose value is secret: its name is part of a key. */
export const SECRET_HEADER_NAME_LENGTH_MAX = 256;
/** A process seals a tenant's secrets with one data key for so long, then asks for another. */
export const SEALING_KEY_MS = 3_600_000;
/** An unwrapped data key is asked for again after this, and used for no longer than that while the master key is away. */
export const DATA_KEY_KNOWN_MS = 900_000;
export const DATA_KEY_KNOWN_MS_MAX = 3_600_000;
/** What does not unwrap is not tried again for so long. */
export const DATA_KEY_REFUSED_MS = 30_000;
/** While the master key does not serve, a worker's calls that want the same data key are told so without asking for so long. */
export const MASTER_KEY_REFUSED_MS = 1_000;
export const DATA_KEYS_KNOWN_MAX = 10_000;
/** When a process starts: how many data keys it looks at, and of how many that begin differently it tries one. A key file has no more lines. */
export const DATA_KEYS_LOOKED_AT = 100_000;
export const DATA_KEY_BEGINS_BYTES = 8;
export const DATA_KEY_SAMPLES_MAX = 20;
/** How long an executor may take a task's secrets for what they were when it last asked; it asks again at a claim before that. */
export const TASK_SECRETS_KNOWN_MS = 3_000;
export const TASK_SECRETS_ASKED_MS = 1_000;
/** … and when the database does not answer. */
export const TASK_SECRETS_KNOWN_MS_MAX = 15_000;
export const TASK_SECRETS_KNOWN_MAX = 5_000;
/** A change of a task's secret holds for every call that starts later than this after its answer. */
export const SECRET_CHANGED_WITHIN_MS = 5_000;
/** Of a tenant's signing secret, likewise. */
export const SIGNING_KNOWN_MS = 30_000;
export const SIGNING_ASKED_MS = 15_000;
export const SIGNING_KNOWN_MS_MAX = 300_000;
export const SIGNING_KNOWN_MAX = 20_000;
/** Bytes of a new signing secret, and how long the one before it is valid too. */
export const SIGNING_SECRET_BYTES = 32;
export const SIGNING_OVERLAP_MS = 86_400_000;
/** With what calls are signed at once: the newest, and two before it, so that a rotation whose answer is lost can be asked for again. */
export const SIGNING_VALID_MAX = 3;

// Access tokens of targets (OAuth 2.0 client credentials).
export const TOKEN_FETCH_MS_MAX = 10_000;
export const TOKEN_RESPONSE_BYTES_MAX = 64 * KIB;
/** For a token that does not say when it expires, and at most. */
export const TOKEN_KEPT_MS_DEFAULT = 300_000;
export const TOKEN_KEPT_MS_MAX = 86_400_000;
/** A token is not used in the last part of its time. */
export const TOKEN_LEFT_MS = 30_000;
/** A 401 of the target drops the token at most this often: a target that takes none costs a fetch a minute. */
export const TOKEN_DROPPED_EVERY_MS = 60_000;
/** After a fetch that failed, calls of that credential fail without another one for so long. */
export const TOKEN_FAILED_MS = 1_000;
export const TOKENS_KEPT_MAX = 10_000;

// Test calls: of a tenant in any span of the window, and how long one is waited for.
export const TEST_CALLS_MAX = 10;
export const TEST_WINDOW_MS = 60_000;
export const TEST_WAIT_MS = 25_000;

// What is kept of why something did not happen, in characters.
export const REASON_LENGTH_MAX = 200;

// Materialise (scheduler).
export const HORIZON_MS = 30_000;
export const MATERIALIZE_JOBS_MAX = 1_000;
/** Tasks of which a tick catches up on missed runs, and jobs: more only where what is due now leaves room … */
export const MATERIALIZE_CATCH_UP_JOBS_MAX = 200;
/** … of which so many of each priority are the furthest behind. */
export const MATERIALIZE_OLDEST_MAX = 25;
export const MATERIALIZE_PER_TASK_MAX = 60;
/** A run is missed, and its task's catch-up policy applies, when its time is this long past. */
export const MISSED_AFTER_MS = 60_000;
export const SKIPPED_ROWS_MAX = 100;
/** When more is due ahead than ticks can make in time, the horizon grows up to here … */
export const HORIZON_MS_MAX = 300_000;
/** … which is looked for by tasks of one priority: so many within less time than ticks take to make them. */
export const DENSE_TASKS = 5_000;
/** Occurrences that one tick steps over altogether; a longer outage takes several ticks. */
export const MATERIALIZE_STEPS_MAX = 5_000;
/** A job made is frozen this long before its time: an edit no longer removes it. */
export const FROZEN_MS = 30_000;

// Claim, fire, record (executor).
export const CLAIM_JOBS_MAX = 500;
export const CLAIM_DEADLINE_MS = 1_000;
export const CLAIM_AHEAD_MS = 1_000;
export const HELD_JOBS_MIN = 100;
export const HELD_RATE_SECONDS = 4;
/** Calls a second that an executor takes for its rate at most, until its slots were all taken once. */
export const GUESSED_PER_SECOND_MAX = 1_500;
/** While other executors live: what one holds beyond that would wait here while others have nothing to do. */
export const HELD_RATE_SECONDS_SHARED = 1;
/** Critical jobs are claimed up to here whatever else is held; those of one tenant count as one in so many of them at most. */
export const HELD_CRITICAL_MIN = 100;
export const HELD_CRITICAL_ONE_IN = 25;
/** Executors make critical tasks themselves that are due this soon. */
export const FAST_AHEAD_MS = 2_000;
/** For so many slots there is one more that only critical jobs may take. */
export const CRITICAL_SLOTS_ONE_IN = 8;
/** … and one tenant has one in so many of them. */
export const CRITICAL_QUOTA_ONE_IN = 4;
/** For so many slots there is one more that only tenants with fewer calls under way than this may take. */
export const SMALL_SLOTS_ONE_IN = 2;
export const SMALL_CALLS_MAX = 4;
/** A tenant that has this part of the slots stands aside while others wait. */
export const ASIDE_SLOTS_ONE_IN = 4;
/**
 * SMALL slots and standing aside begin when calls have lasted this long on average: shorter ones make room by ending, and are best sent
 * along warm connections.
 */
export const LASTING_MS = 20;
/**
 * Jobs of tenants with SMALL_CALLS_MAX calls under way, and more, that last so long wait for those. What they cannot start soon goes back
 * when room is short: at most so much at once beyond what room lacks. It is tried again after once to twice as long as their calls
 * probably last, within these bounds. Only when those have lasted PUT_OFF_LASTING_MS on average: tens of ms are what any call lasts on a
 * machine that is busy.
 */
export const PUT_OFF_LASTING_MS = 200;
export const PUT_OFF_JOBS_MAX = 100;
export const PUT_OFF_EVERY_MS = 200;
export const PUT_OFF_MS = 5_000;
export const PUT_OFF_MS_MAX = 30_000;
/**
 * Where no call of such a tenant has begun for so long, what waits here for one goes back to whoever else lives: so many at once, then one
 * each so often. Its jobs under limits are left to them, until those wait for so long that nobody seems to have a slot.
 */
export const STUCK_MS = 2_000;
export const STUCK_BACK_MAX = 30;
export const STUCK_BACK_EVERY_MS = 300;
export const STUCK_LEFT_MS = 30_000;
export const HELD_JOBS_MAX = 50_000;
export const VERSION_CACHE_BYTES_MAX = 64 * KIB * KIB;
/** A request that is larger, as it is stored, leaves its body in the database until its call starts. */
export const CARRIED_BYTES_MAX = 16 * KIB;
export const POLL_PERIOD_MS = 200;
export const POLL_PERIOD_MS_MAX = 2_000;
export const FLOOR_SLACK_MS = 5_000;
export const RESULTS_GROUP_MAX = 1_000;
/** Of one group, as its statement is written: servers refuse statements of 4 MB where nobody has told them otherwise. */
export const RESULTS_GROUP_BYTES_MAX = 2 * KIB * KIB;
export const RESULTS_WAITING_MAX = 20_000;
export const ATTEMPT_RECORDS_MAX = 30;
/** Of one job, over all its retries by hand: more have no room in its row. */
export const JOB_ATTEMPTS_MAX = 60_000;
export const SUCCESS_BODY_BYTES_KEPT = 128;
export const FAILURE_BODY_BYTES_KEPT = 1 * KIB;
/** Connections of an executor that are kept open while nothing uses them. */
export const IDLE_CONNECTIONS_MAX = 2_048;
/** TLS sessions that an executor keeps: about 1.6 KB each, most of it the server's certificate, and 10 KiB at most, Node's own bound. */
export const TLS_SESSIONS_MAX = 8_192;

// Lanes: a tenant's share of each window, in jobs of a priority; what is counted at most, by window, tenant and priority.
export const LANE_WINDOW_MS = 10_000;
export const LANE_SHARE_JOBS = 100;
/** Of critical ones: two a second are within it for ever. */
export const LANE_SHARE_CRITICAL_JOBS = 40;
export const LANE_COUNTS_MAX = 200_000;

// Call limits: what may be set, and up to where waiting jobs are counted for the API.
export const LIMIT_CONCURRENCY_MAX = 1_000;
/** The slowest rate is a call in so many seconds. */
export const LIMIT_SPACING_SECONDS_MAX = 100;
export const LIMIT_PER_SECOND_MAX = 1_000;
/** That a tenant has set at a time: each new one looks at all of its tasks. */
export const LIMITS_SET_MAX = 1_000;
export const LIMIT_WAITING_COUNTED_MAX = 1_000;
/** Slots that were not used for so long go back. */
export const LIMIT_IDLE_MS = 1_000;
/** An instant that a rate has given may be used so late at least. */
export const START_LATE_MS_MIN = 20;
/** Lines that one take is for, of so many that are listed, each queue of a key for itself. */
export const LIMIT_LINES_MAX = 100;
export const LIMIT_LINES_LISTED_MAX = 1_000;
/** Jobs that an executor holds of one line, and unsent ones of all, but for a few of each line. */
export const LINE_HELD_MAX = 500;
export const LINES_HELD_MAX = 5_000;
/** Of a rate, jobs are taken that start so long after the last one that may be due. */
export const LIMIT_START_AHEAD_MS = 1_000;
/** When a limit is new, jobs that are there and scheduled since so long ago line up too, as far as that can be done in so much time. */
export const LINE_UP_SINCE_MS = 600_000;
export const LINE_UP_MS_MAX = 3_000;
/** Jobs of a limit that is gone which go on together. */
export const RELEASE_GROUP_MAX = 1_000;

// Leases and fences.
export const WORKER_LEASE_MS = 6_000;
export const RENEW_PERIOD_MS = 2_000;
export const RENEW_RETRY_MS = 200;
/** So long a renewal may take without being cut. What a look at the leases takes longer for, renewals may be cut by. */
export const RENEW_TRY_MS = 1_000;
/** Nothing starts later than this after the last good renewal and the last good poll were sent. */
export const START_WINDOW_MS = 5_000;
/** Of a lease that is nearer to its end a worker may have let slots go already: it would not count on those that it got. */
export const TAKE_LEASE_LEFT_MS = WORKER_LEASE_MS - START_WINDOW_MS;
/** A job whose secrets cannot be opened now is not tried again before once to twice this has passed. */
export const SECRETS_AGAIN_MS = 5_000;
export const BACKSTOP_SLACK_MS = 30_000;
/** A call starts only when it would end this long before its job's backstop. */
export const BACKSTOP_GUARD_MS = 2_000;
export const LOST_MAX = 5;
export const REVOCATION_WINDOW_MS = 40_000;
export const REVOKED_GROUP_MAX = 1_000;
/** Far beyond every window in which an executor reads them. */
export const REVOCATIONS_KEPT_MS = 86_400_000;
export const RESCUE_GROUP_MAX = 1_000;
/** A fenced worker's row is kept this long: whoever wakes up under it must find itself fenced. */
export const FENCED_KEPT_MS = 3_600_000;

// Reconcile: a run outlasts the minute to the next one, so that somebody always looks.
export const RECONCILE_RUN_MS = 70_000;
/** From one look at the leases to the next. */
export const PASS_PERIOD_MS = 2_000;
/** What is given back was seen in two looks so far apart. */
export const SEEN_APART_MS = 4_000;
/** Looks further apart than this have nothing to do with each other. */
export const PASS_GAP_MS_MAX = 15_000;
/** A pass that gives back for so long lets the next one look first. */
export const RESCUE_PASS_MS_MAX = 5_000;
/** From one look at the backlog to the next. */
export const MEASURE_PERIOD_MS = 15_000;
export const EXPIRED_WORKERS_MAX = 1_000;
export const FENCED_WORKERS_MAX = 1_000;
export const PAST_BACKSTOP_MAX = 5_000;
/** Changes of tasks that a pass looks at, whether they were left behind. */
export const UNFINISHED_MAX = 100;
export const PRUNE_MAX = 1_000;

// Dead letters that are retried together.
export const RETRY_GROUP_MAX = 1_000;
/** The last of a group starts this late at most: they are spaced ten seconds apart, or less. */
export const RETRY_AHEAD_MS_MAX = 10_000_000;

// Archive.
export const ARCHIVE_READ_MAX = 4_000;
/** Rows that are deleted together, once they are in the history. */
export const ARCHIVE_GROUP_MAX = 2_000;
export const ARCHIVE_READ_BYTES_MAX = 16 * KIB * KIB;
/** Rows that are written to history, then deleted, together. */
export const ARCHIVE_COPY_MAX = 500;
/** Requests are read so many at a time, each up to BODY_BYTES_MAX … */
export const ARCHIVE_VERSIONS_AT_ONCE = 50;
/** … and what history keeps of so many of them is remembered. */
export const ARCHIVE_REQUESTS_KEPT = 2_000;
/**
 * A run begins nothing in the last part of its time but what ends then: rows under way, their deletion, a batch of old tasks, a count;
 * 5 s each at most.
 */
export const ARCHIVE_LEFT_MS = 22_000;
/** Reads in a row of which nothing could be deleted, before a run leaves the rest to the next. */
export const ARCHIVE_IDLE_READS_MAX = 3;
/** Rows still to be archived are counted up to here. */
export const ARCHIVE_BACKLOG_COUNTED_MAX = 100_000;
/**
 * A deleted task, and a completed one after its last job, is kept for its jobs' retention in MySQL and this, so that they can be listed
 * for as long as history has them: 30 days, and one for whatever is late.
 */
export const TASK_KEPT_IN_HISTORY_MS = 31 * 86_400_000;
export const PURGE_TASKS_MAX = 200;
/** A PUT makes no one-off task whose time has passed by more: the same may have run, and been removed since. */
export const PUT_PAST_MS_MAX = 86_400_000;

// Shutdown.
export const DRAIN_CALLS_MS = 100_000;
export const DRAIN_TOTAL_MS = 110_000;

// A task of very many jobs.
/** After this a pause, delete or resume begins no further group of them: 5 s for the last, and the request's 28 s are not over. */
export const JOBS_CHANGE_MS_MAX = 20_000;
/** For one page of a list with a filter, or one retry of all: rows read at a time to pass over what is not asked for, none after this long. */
export const LISTED_ROWS_MAX = 1_000;
export const LISTED_ROWS_MS_MAX = 1_500;

// History.
/** A longer body is kept as its hash and size. */
export const HISTORY_BODY_BYTES_MAX = 256;
/** How many calendar months back a task's history is looked for, this month included. */
export const HISTORY_MONTHS_MAX = 14;
/** Rows that one call reads for a filter to pass over before it answers with what it has. */
export const HISTORY_SCAN_ROWS_MAX = 2_000;
/** For one page of a list: pages that history is asked for, none after this long. */
export const HISTORY_PAGES_MAX = 10;
export const HISTORY_PAGES_MS_MAX = 300;
export const HISTORY_WRITES_AT_ONCE = 64;
/** The database refuses larger rows. */
export const HISTORY_ROW_BYTES_MAX = 1_000_000;
/** A copy is written as of this long ago at most: Amazon Keyspaces refuses 2 days. */
export const HISTORY_WRITE_AGE_MS_MAX = 86_400_000;

assert(
  START_WINDOW_MS < WORKER_LEASE_MS,
  "a worker stops starting calls before others may take its jobs",
);
assert(
  BACKSTOP_SLACK_MS + POLL_PERIOD_MS_MAX + CLAIM_AHEAD_MS < REVOCATION_WINDOW_MS,
  "every executor polls while a revocation is young; a clock set forward past that is past the backstop of all it holds",
);
assert(REVOCATION_WINDOW_MS < REVOCATIONS_KEPT_MS, "revocations outlast their readers");
assert(RENEW_PERIOD_MS * 2 < START_WINDOW_MS, "one lost renewal stops nothing");
assert(POLL_PERIOD_MS_MAX < START_WINDOW_MS, "a quiet executor's poll keeps its start window open");
assert(BACKSTOP_GUARD_MS < BACKSTOP_SLACK_MS, "a call that starts ends before its backstop");
assert(
  MATERIALIZE_CATCH_UP_JOBS_MAX < MATERIALIZE_JOBS_MAX,
  "catch-up leaves room for what is due now",
);
assert(HORIZON_MS < HORIZON_MS_MAX, "the horizon grows");
assert(FROZEN_MS >= HORIZON_MS, "what the usual horizon makes is not unmade by every edit");
assert(
  DRAIN_CALLS_MS < DRAIN_TOTAL_MS && DRAIN_TOTAL_MS < 120_000,
  "drain ends inside the stop timeout",
);
assert(PRINCIPAL_KNOWN_MS * 2 <= KEY_REVOKED_WITHIN_MS, "what is remembered is forgotten in time");
assert(
  TASK_SECRETS_ASKED_MS < TASK_SECRETS_KNOWN_MS && TASK_SECRETS_KNOWN_MS < SECRET_CHANGED_WITHIN_MS,
  "what is remembered of a task's secrets is forgotten in time",
);
assert(SIGNING_ASKED_MS < SIGNING_KNOWN_MS, "a claim asks before a call has to wait");
assert(RECONCILE_RUN_MS > 60_000 + PASS_PERIOD_MS, "runs a minute apart leave no gap");
assert(
  SEEN_APART_MS + PASS_PERIOD_MS + RESCUE_PASS_MS_MAX < PASS_GAP_MS_MAX,
  "a pass full of work does not make the next one forget",
);
assert(ARCHIVE_COPY_MAX <= ARCHIVE_GROUP_MAX, "what was copied together is deleted together");
assert(RESULTS_GROUP_MAX <= RESULTS_WAITING_MAX, "a group fits what may wait");
assert(CLAIM_JOBS_MAX <= HELD_JOBS_MAX, "a claim fits into memory");
// One character of JSON takes at most six bytes (\u0000); what is kept beside bodies and headers is small.
assert(
  6 *
    (ATTEMPT_RECORDS_MAX * (FAILURE_BODY_BYTES_KEPT + 300) +
      2 * (HEADER_BYTES_MAX + HISTORY_BODY_BYTES_MAX) +
      URL_BYTES_MAX +
      4 * KIB) <
    HISTORY_ROW_BYTES_MAX,
  "the largest job fits into one row of history",
);
assert(
  PAGE_LIMIT_MAX < HISTORY_SCAN_ROWS_MAX,
  "a page without a filter is never cut by the scan's bound",
);
