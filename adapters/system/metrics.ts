/**
 * Counts in memory: one source, read in two ways. `take` answers what came since the last time (a line a minute for CloudWatch),
 * `totals` what there has been since the start (Prometheus). Counting is an addition; nobody waits for a reader.
 */
import { PRIORITIES, type Priority } from "#core/domain/queue.ts";
import {
  COUNTERS,
  type CounterName,
  type Gauges,
  LAG_BOUNDS_MS,
  LAG_METRICS,
  LAG_PROMISED_MS,
  type MetricService,
  type Metrics,
  type MetricsInterval,
  type PriorityGaugeName,
  type PriorityInterval,
  READINGS_MAX,
  type ServiceGaugeName,
} from "#core/ports/metrics.ts";

export interface MetricsTotals {
  readonly counters: ReadonlyMap<CounterName, number>;
  /** The last reading of each level that is not older than three minutes, by name, and by priority where it has one. */
  readonly gauges: ReadonlyMap<ServiceGaugeName, number>;
  readonly gaugesOf: ReadonlyMap<PriorityGaugeName, ReadonlyMap<Priority, number>>;
  /** Calls for each of LAG_BOUNDS_MS and beyond; absent where none is counted. */
  readonly lags: ReadonlyMap<Priority, { readonly buckets: Float64Array; readonly sumMs: number }>;
}

export interface MetricsInMemory extends Metrics, Gauges {
  readonly service: MetricService;
  /** `read` takes readings of levels; called before anybody is answered. */
  onRead(read: () => void): void;
  take(): MetricsInterval;
  totals(): MetricsTotals;
}

type Lag = { buckets: Float64Array; taken: Float64Array; sumMs: number };
type Readings = { last: number; atMs: number; sinceTaken: number[] };

/** A level that nobody has read anew for so long is missing: the longest that lies between two readings, of the archiver, is two minutes. */
const READING_KEPT_MS = 180_000;

/** Knows the metrics of this service only: what another one reports is absent here, what it has is there from the start. */
export function openMetrics(
  service: MetricService,
  monotonicMs: () => number = () => performance.now(),
): MetricsInMemory {
  return new OwnMetrics(service, monotonicMs);
}

class OwnMetrics implements MetricsInMemory {
  readonly service: MetricService;
  readonly #monotonicMs: () => number;
  readonly #counters: Map<CounterName, number>;
  #countersTaken: Map<CounterName, number>;
  readonly #lags: Map<Priority, Lag>;
  readonly #gauges = new Map<ServiceGaugeName, Readings>();
  readonly #gaugesOf = new Map<PriorityGaugeName, Map<Priority, Readings>>();
  readonly #readers: (() => void)[] = [];

  constructor(service: MetricService, monotonicMs: () => number) {
    this.service = service;
    this.#monotonicMs = monotonicMs;
    this.#counters = new Map(countersOf(service).map((name) => [name, 0]));
    this.#countersTaken = new Map(this.#counters);
    const measuresLag = has(LAG_METRICS.first.services, service);
    this.#lags = new Map(measuresLag ? PRIORITIES.map((priority) => [priority, newLag()]) : []);
  }

  count(name: CounterName, by: number): void {
    const before = this.#counters.get(name);
    if (before !== undefined) this.#counters.set(name, before + by);
  }

  observeLagMs(priority: Priority, lagMs: number): void {
    const lag = this.#lags.get(priority);
    if (lag === undefined) return;
    const bucket = bucketOf(lagMs);
    lag.buckets[bucket] = (lag.buckets[bucket] ?? 0) + 1;
    // A call begins some ms early at worst, by the database's clock.
    lag.sumMs += Math.max(0, lagMs);
  }

  gauge(name: ServiceGaugeName, value: number): void {
    note(this.#gauges, name, value, this.#monotonicMs());
  }

  gaugeOf(name: PriorityGaugeName, priority: Priority, value: number): void {
    const readings = this.#gaugesOf.get(name) ?? new Map<Priority, Readings>();
    this.#gaugesOf.set(name, readings);
    note(readings, priority, value, this.#monotonicMs());
  }

  onRead(read: () => void): void {
    this.#readers.push(read);
  }

  take(): MetricsInterval {
    for (const read of this.#readers) read();
    const taken = this.#countersTaken;
    this.#countersTaken = new Map(this.#counters);
    return {
      counters: new Map(
        [...this.#counters].map(([name, count]) => [name, count - (taken.get(name) ?? 0)]),
      ),
      gauges: takeReadings(this.#gauges),
      priorities: new Map(PRIORITIES.map((priority) => [priority, this.#takePriority(priority)])),
    };
  }

  totals(): MetricsTotals {
    for (const read of this.#readers) read();
    const sinceMs = this.#monotonicMs() - READING_KEPT_MS;
    return {
      counters: this.#counters,
      gauges: lastReadings(this.#gauges, sinceMs),
      gaugesOf: new Map(
        [...this.#gaugesOf].map(([name, each]) => [name, lastReadings(each, sinceMs)]),
      ),
      lags: this.#lags,
    };
  }

  #takePriority(priority: Priority): PriorityInterval {
    const gauges = new Map<PriorityGaugeName, readonly number[]>();
    for (const [name, readings] of this.#gaugesOf) {
      const sinceTaken = takeReadings(readings, priority).get(priority);
      if (sinceTaken !== undefined) gauges.set(name, sinceTaken);
    }
    const lag = this.#lags.get(priority);
    return { gauges, lag: lag === undefined ? null : takeLag(lag, priority) };
  }
}

export function countersOf(service: MetricService): CounterName[] {
  const names = Object.keys(COUNTERS) as CounterName[];
  return names.filter((name) => has(COUNTERS[name].services, service));
}

function has(services: readonly MetricService[], service: MetricService): boolean {
  return services.includes(service);
}

function newLag(): Lag {
  const empty = () => new Float64Array(LAG_BOUNDS_MS.length + 1);
  return { buckets: empty(), taken: empty(), sumMs: 0 };
}

/** The first whose bound is not exceeded; one more for what is above all. */
function bucketOf(lagMs: number): number {
  let low = 0;
  let high: number = LAG_BOUNDS_MS.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((LAG_BOUNDS_MS[middle] as number) < lagMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function takeLag(lag: Lag, priority: Priority): NonNullable<PriorityInterval["lag"]> {
  const since = lag.buckets.map((count, bucket) => count - (lag.taken[bucket] ?? 0));
  lag.taken = lag.buckets.slice();
  const first = since.reduce((sum, count) => sum + count, 0);
  const promisedAt = bucketOf(LAG_PROMISED_MS[priority]);
  const late = since.slice(promisedAt + 1).reduce((sum, count) => sum + count, 0);
  return {
    ...{ first, late },
    p50Ms: percentileMs(since, first, 0.5),
    p99Ms: percentileMs(since, first, 0.99),
  };
}

/** Upper bound of the bucket that holds the percentile; twice the last bound stands for what is above all. */
function percentileMs(buckets: Float64Array, total: number, share: number): number | null {
  if (total === 0) return null;
  let seen = 0;
  for (const [bucket, count] of buckets.entries()) {
    seen += count;
    if (seen >= share * total) return boundMs(bucket);
  }
  return boundMs(buckets.length);
}

function boundMs(bucket: number): number {
  return LAG_BOUNDS_MS[bucket] ?? 2 * (LAG_BOUNDS_MS.at(-1) ?? 0);
}

function note<Key>(all: Map<Key, Readings>, key: Key, value: number, atMs: number): void {
  const readings = all.get(key) ?? { last: value, atMs, sinceTaken: [] };
  all.set(key, readings);
  readings.last = value;
  readings.atMs = atMs;
  const { sinceTaken } = readings;
  if (sinceTaken.length < READINGS_MAX) sinceTaken.push(value);
  else sinceTaken[READINGS_MAX - 1] = Math.max(value, sinceTaken[READINGS_MAX - 1] ?? value);
}

function takeReadings<Key>(all: Map<Key, Readings>, only?: Key): Map<Key, readonly number[]> {
  const taken = new Map<Key, readonly number[]>();
  for (const [key, readings] of all) {
    if (only !== undefined && key !== only) continue;
    if (readings.sinceTaken.length > 0) taken.set(key, readings.sinceTaken);
    readings.sinceTaken = [];
  }
  return taken;
}

function lastReadings<Key>(all: Map<Key, Readings>, sinceMs: number): Map<Key, number> {
  const recent = [...all].filter(([, { atMs }]) => atMs >= sinceMs);
  return new Map(recent.map(([key, { last }]) => [key, last]));
}
