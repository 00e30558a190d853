/** How many connections to MySQL a cell may open at once, and how many its capacity bears. */
import type { CellConfig } from "./config.ts";

/** Pools of an executor or a scheduler (adapters/mysql): the shard's, leases', the control database's. Twice, while a release replaces them. */
const OF_WORKER = 2 * (10 + 2 + 2);
/** An environment of a function has one to the shard and one to the control database, also between two requests. */
const OF_ENVIRONMENT = 2;
/** Lambda's concurrency in an account whose quota nobody has raised. */
const ENVIRONMENTS_MAX = 1_000;
/** A proxy that has less is none: the API would wait for connections. */
const PROXY_PERCENT_MIN = 10;
/** As long as an answer may take on average, when the API is at its rate at both ways in. */
const ANSWER_SECONDS = 1;

/**
 * What is wrong where workers and API could take more connections than there are; null when they cannot. After a failover all
 * connect anew, and an executor that gets none for 6 s is fenced.
 */
export function connectionsFault(cell: CellConfig): string | null {
  const { data, api } = cell;
  const workers = workersOf(cell);
  if (data.proxy) {
    const percent = proxyPercentOf(cell);
    if (percent >= PROXY_PERCENT_MIN) return null;
    return `${workers} executors and schedulers leave ${percent} % of ${connectionsOf(data.acuMax)} connections to MySQL for the proxy, less than ${PROXY_PERCENT_MIN} %: more acuMax, or less executorsMax`;
  }
  const environments = Math.min(ENVIRONMENTS_MAX, 2 * api.ratePerSecond * ANSWER_SECONDS);
  const ofFunctions = OF_ENVIRONMENT * environments;
  const needed = OF_WORKER * workers + ofFunctions;
  const have = connectionsOf(data.acuMax);
  if (needed <= have) return null;
  return `${needed} connections to MySQL (${OF_WORKER} for each of ${workers} executors and schedulers, ${ofFunctions} for functions), and ${data.acuMax} ACU bear ${have}: more acuMax, or less executorsMax or ratePerSecond`;
}

/** How much of all connections the proxy of a cell may have, in percent: what workers, which go past it, leave. */
export function proxyPercentOf(cell: CellConfig): number {
  const have = connectionsOf(cell.data.acuMax);
  return Math.floor((100 * (have - OF_WORKER * workersOf(cell))) / have);
}

function workersOf({ workers }: CellConfig): number {
  return workers.executorsMax + workers.schedulers;
}

/** Aurora's own max_connections, from 8 ACU on: 1,000 there, 1,000 more each time that it doubles, 6,000 at most. */
function connectionsOf(acuMax: number): number {
  return Math.min(6_000, Math.floor(1_000 * Math.log2(acuMax / 4)));
}
