/**
 * What the services count: the closed list of metrics, as pure data. The code counts by it, CloudWatch gets it (embedded metric
 * format, namespace METRIC_NAMESPACE), Prometheus reads it (`at_and_cron_<key>`), and infra builds dashboard and alarms on it.
 *
 * Dimensions are `Service` (one of METRIC_SERVICES) and, where `by` says so, `Priority`; never a tenant, a task or a job. A counter or
 * a distribution of a minute in which nothing happened is 0 where a process lives (a missing value means that no process of the
 * service has reported); a gauge that could not be read is missing.
 */
import type { Priority } from "#core/domain/queue.ts";

export const METRIC_NAMESPACE = "AtAndCron";
export const METRIC_SERVICES = ["scheduler", "executor", "reconciler", "archiver"] as const;
export type MetricService = (typeof METRIC_SERVICES)[number];

export interface MetricSpec {
  /** In CloudWatch. */
  readonly name: string;
  readonly unit: "Count" | "Seconds" | "Milliseconds";
  /** `service`: dimension Service alone; `priority`: dimensions Service and Priority (critical, high, normal, low). */
  readonly by: "service" | "priority";
  readonly services: readonly MetricService[];
  readonly help: string;
}

type Specs = Readonly<Record<string, MetricSpec>>;

/** A counter of one or more services. */
function sum(name: string, services: readonly MetricService[], help: string): MetricSpec {
  return { name, unit: "Count", by: "service", services, help };
}

/** Events. In CloudWatch: how many since the last line, of each process; statistic Sum. In Prometheus: `_total`, since its start. */
export const COUNTERS = {
  ticks: sum("Ticks", ["scheduler"], "Steps of the scheduler that ended well: the heartbeat"),
  materialized: sum("Materialized", ["scheduler"], "Jobs made from schedules"),
  materialize_already_made: sum(
    "MaterializeAlreadyMade",
    ["scheduler"],
    "Runs that another scheduler or an executor had made already",
  ),
  schedule_errors: sum("ScheduleErrors", ["scheduler"], "Tasks whose schedule cannot go on"),
  claimed: sum("Claimed", ["executor"], "Jobs taken, each for one call"),
  sent: sum("Sent", ["executor"], "Calls begun"),
  results_2xx: sum("Results2xx", ["executor"], "Calls answered 2xx"),
  results_3xx: sum(
    "Results3xx",
    ["executor"],
    "Calls answered 1xx or 3xx: no redirect is followed",
  ),
  results_4xx: sum("Results4xx", ["executor"], "Calls answered 4xx"),
  results_5xx: sum("Results5xx", ["executor"], "Calls answered 5xx or beyond"),
  results_timeout: sum("ResultsTimeout", ["executor"], "Calls cut at their timeout"),
  results_network: sum(
    "ResultsNetwork",
    ["executor"],
    "Calls that failed in DNS, connect, TLS or on the way",
  ),
  results_refused: sum(
    "ResultsRefused",
    ["executor"],
    "Attempts that we refused to send: destination not allowed, request invalid, no token or secret for it any more",
  ),
  results_secrets: sum(
    "ResultsSecrets",
    ["executor"],
    "Turns without a call because secrets did not open: the master key is away or another one",
  ),
  interrupted: sum(
    "Interrupted",
    ["executor"],
    "Calls cut by the drain at SIGTERM, or limited ones whose executor could not renew its lease: they are made anew",
  ),
  dead: sum(
    "Dead",
    ["executor", "reconciler"],
    "Jobs that ended dead: attempts used up, refused for good, or lost five times",
  ),
  given_back: sum("GivenBack", ["executor"], "Jobs given back unsent"),
  lost_races: sum(
    "LostRaces",
    ["executor"],
    "Results and give-backs that came after somebody else's claim, or twice",
  ),
  fenced: sum(
    "Fenced",
    ["executor", "reconciler"],
    "Executors found fenced (by themselves), or fenced (by the reconciler)",
  ),
  claims_unknown: sum(
    "ClaimsUnknown",
    ["executor"],
    "Claims whose COMMIT was not answered, settled later",
  ),
  rescued: sum(
    "Rescued",
    ["reconciler"],
    "Jobs put back in line whose executor died, or which were past their backstop",
  ),
  rescued_cancelled: sum(
    "RescuedCancelled",
    ["reconciler"],
    "Jobs whose executor died, or which were past their backstop, that a pause, delete or cancel had marked",
  ),
  passes: sum("Passes", ["reconciler"], "Looks at the leases that ended well: the heartbeat"),
  passes_failed: sum(
    "PassesFailed",
    ["reconciler"],
    "Looks at the leases that failed: database away",
  ),
  archive_runs: sum("ArchiveRuns", ["archiver"], "Runs that ended without an error: the heartbeat"),
  archived_rows: sum("ArchivedRows", ["archiver"], "Jobs moved to history"),
  archive_kept: sum("ArchiveKept", ["archiver"], "Jobs copied that had changed meanwhile and stay"),
  archive_stopped: sum(
    "ArchiveStopped",
    ["archiver"],
    "Runs that ended early: MySQL or Cassandra away or busy",
  ),
  purged_tasks: sum("PurgedTasks", ["archiver"], "Deleted and completed tasks removed for good"),
  pool_waits: sum(
    "PoolWaits",
    METRIC_SERVICES,
    "Times that a statement had to wait for a connection",
  ),
} as const satisfies Specs;

/**
 * Levels. In CloudWatch: every reading since the last line; the statistic is Maximum unless its text says otherwise. In Prometheus:
 * the last reading.
 */
export const GAUGES = {
  backlog: {
    name: "Backlog",
    unit: "Count",
    by: "priority",
    services: ["reconciler"],
    help: "Jobs that are due and wait for an executor, counted up to BACKLOG_COUNTED_MAX for each priority",
  },
  oldest_due_age: {
    name: "OldestDueAge",
    unit: "Seconds",
    by: "priority",
    services: ["reconciler"],
    help: "How long the job that waits longest has been due; 0 when none waits",
  },
  materialize_behind: {
    name: "MaterializeBehind",
    unit: "Seconds",
    by: "priority",
    services: ["reconciler"],
    help: "How long ago the run was due that no scheduler has made into a job yet; 0 when there is none",
  },
  due_soon: {
    name: "DueSoon",
    unit: "Count",
    by: "service",
    services: ["reconciler"],
    help: "Jobs due within DUE_SOON_MS, late ones included, counted up to DUE_SOON_COUNTED_MAX for all priorities together",
  },
  due_soon_per_executor: {
    name: "DueSoonPerExecutor",
    unit: "Count",
    by: "service",
    services: ["reconciler"],
    help: "DueSoon divided by LiveExecutors (by one when there is none): what executors are scaled on",
  },
  live_executors: {
    name: "LiveExecutors",
    unit: "Count",
    by: "service",
    services: ["reconciler"],
    help: "Executors with a live lease; statistic Minimum",
  },
  limits_waiting: {
    name: "LimitsWaiting",
    unit: "Count",
    by: "service",
    services: ["reconciler"],
    help: "Jobs that are due and wait under a concurrency or rate limit, counted up to BACKLOG_COUNTED_MAX",
  },
  archive_backlog: {
    name: "ArchiveBacklog",
    unit: "Count",
    by: "service",
    services: ["archiver"],
    help: "Finished jobs that should be in history and were left at the end of a run, counted up to ARCHIVE_BACKLOG_COUNTED_MAX",
  },
  materialize_age: {
    name: "MaterializeAge",
    unit: "Seconds",
    by: "service",
    services: ["scheduler"],
    help: "Time since the last step of this scheduler that ended well, whether something was due or not: the dead man's switch",
  },
  poll_age: {
    name: "PollAge",
    unit: "Seconds",
    by: "service",
    services: ["executor"],
    help: "Time since the last good poll of this executor: how long it has been without the database",
  },
  held: {
    name: "Held",
    unit: "Count",
    by: "service",
    services: ["executor"],
    help: "Jobs in this executor's memory: waiting for their second or a slot, and calls under way",
  },
  sending: {
    name: "Sending",
    unit: "Count",
    by: "service",
    services: ["executor"],
    help: "Slots of this executor that are taken, by calls under way or being prepared: what executors are scaled on, statistic Average",
  },
  outbox_waiting: {
    name: "OutboxWaiting",
    unit: "Count",
    by: "service",
    services: ["executor"],
    help: "Results and give-backs of this executor that are not written yet",
  },
  event_loop_delay: {
    name: "EventLoopDelay",
    unit: "Seconds",
    by: "service",
    services: ["scheduler", "executor"],
    help: "The longest that this process was busy with one thing, or stood still, since the last line",
  },
} as const satisfies Specs;

const LAG = { by: "priority", services: ["executor"] } as const;

/**
 * What comes of the lag (sent minus scheduled, of first attempts of scheduled runs that wait under no limit). Percentiles are upper bounds of LAG_BOUNDS_MS of
 * one process and minute, missing where it began no such call: statistic Maximum, the worst executor's. `LateCalls` ÷ `FirstCalls`
 * (Sum) is exact over all processes: above 0.01 the promise of a p99 is broken.
 */
export const LAG_METRICS = {
  p50: {
    ...LAG,
    name: "LagP50",
    unit: "Milliseconds",
    help: "Half of the calls began at most so late",
  },
  p99: {
    ...LAG,
    name: "LagP99",
    unit: "Milliseconds",
    help: "99 of 100 calls began at most so late",
  },
  first: { ...LAG, name: "FirstCalls", unit: "Count", help: "Calls that the lag was measured of" },
  late: {
    ...LAG,
    name: "LateCalls",
    unit: "Count",
    help: "Those that began later than LAG_PROMISED_MS",
  },
} as const satisfies Specs;

/** The p99 that is promised for each priority, ms. Each is one of LAG_BOUNDS_MS, so that what is late is counted exactly. */
export const LAG_PROMISED_MS: Readonly<Record<Priority, number>> = {
  critical: 1_000,
  high: 20_000,
  normal: 180_000,
  low: 1_200_000,
};

/** Upper bounds, inclusive, of the buckets in which lags are counted, ms; what is above the last is in one more. */
export const LAG_BOUNDS_MS = [
  5, 10, 25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 650, 800, 1_000, 1_500, 2_000, 3_000, 5_000,
  7_500, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 180_000, 300_000, 600_000, 1_200_000,
  1_800_000, 3_600_000,
] as const;

/** Backlogs are counted up to here, for each priority: enough to tell a peak from a standstill. */
export const BACKLOG_COUNTED_MAX = 20_000;
/**
 * What is due soon is counted further, once for all priorities: executors are scaled on its share of each, which has to tell at the
 * most executors still whether more are wanted (infra/config.ts holds its figures to this).
 */
export const DUE_SOON_COUNTED_MAX = 100_000;
/** What is due so soon counts for scaling: about what a new executor takes to start. */
export const DUE_SOON_MS = 60_000;

export type CounterName = keyof typeof COUNTERS;
export type GaugeName = keyof typeof GAUGES;
export type PriorityGaugeName = {
  [Name in GaugeName]: (typeof GAUGES)[Name]["by"] extends "priority" ? Name : never;
}[GaugeName];
export type ServiceGaugeName = Exclude<GaugeName, PriorityGaugeName>;

/** Counts in memory. Called in the hot path: some nanoseconds each, no I/O. */
export interface Metrics {
  count(name: CounterName, by: number): void;
  /** Sent minus `scheduledAt` of a first attempt, in ms. */
  observeLagMs(priority: Priority, lagMs: number): void;
}

/** What a process has counted since it was asked last. */
export interface MetricsInterval {
  readonly counters: ReadonlyMap<CounterName, number>;
  /** Readings since the last time, in order; at most READINGS_MAX, of which one is the highest. */
  readonly gauges: ReadonlyMap<ServiceGaugeName, readonly number[]>;
  readonly priorities: ReadonlyMap<Priority, PriorityInterval>;
}

export interface PriorityInterval {
  readonly gauges: ReadonlyMap<PriorityGaugeName, readonly number[]>;
  /** Null in a process that begins no calls. Percentiles are null when it began none. */
  readonly lag: {
    readonly first: number;
    readonly late: number;
    readonly p50Ms: number | null;
    readonly p99Ms: number | null;
  } | null;
}

/** Embedded metric format takes no more values of one metric in a line. */
export const READINGS_MAX = 100;

/** Readings of levels, by whoever looks at them once in a while; in the unit of the gauge. */
export interface Gauges {
  gauge(name: ServiceGaugeName, value: number): void;
  gaugeOf(name: PriorityGaugeName, priority: Priority, value: number): void;
}
