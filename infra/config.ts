/**
 * The stages that can be deployed, their cells, and the reading of `-c stage=`. Sizes are constants: a change of one is a commit.
 *
 * A cell is everything that a group of tenants needs, in one region. One more cell, or region, is one more line in `stages`.
 */
import type { Node } from "constructs";
import { DUE_SOON_COUNTED_MAX } from "#core/ports/metrics.ts";
import { reconcilerEnv } from "#functions/reconciler/env.ts";
import { executorEnv } from "#workers/executor/env.ts";
import { connectionsFault } from "./mysql-connections.ts";

/** The addresses of a cell are divided among so many, whether it has them or not. */
export const ZONES_MAX = 3;

/** `localstack`: what an emulator runs of a cell (emulated-cell.ts). */
export type StageName = "dev" | "prod" | "localstack";

export interface NetworkConfig {
  /** Of the whole VPC, a /16: no two cells that may be peered share one. */
  readonly cidr: string;
  /**
   * Letters of the region's availability zones, two or three, in the order of the subnets. Of a cell that is deployed one may be added at
   * the end, and none changed: subnets and database instances would be replaced (docs/deploy.md).
   */
  readonly zones: readonly string[];
  /** One for each zone, or one that all share: cheaper, and gone with its zone. */
  readonly natGateways: number;
  /**
   * How executors reach the internet. `nat`: from the fixed addresses that the stack tells. `own-addresses`: each task has a public
   * address while it lives, nothing is paid per GB, and tenants cannot let us through by address. From the first to the second users go
   * first (docs/deploy.md).
   */
  readonly executorEgress: "nat" | "own-addresses";
  readonly flowLogs: "all" | "rejected";
  readonly flowLogRetentionDays: 7 | 30;
  /** Keeps the addresses that tenants let through their firewalls when the stack is deleted. */
  readonly retainAddresses: boolean;
}

export interface DataConfig {
  /** Aurora capacity units at least; 0 would let it pause, and the first call after that be late. */
  readonly acuMin: number;
  readonly acuMax: number;
  /** Pays for storage instead of I/O: cheaper from where I/O is a quarter of the bill. */
  readonly ioOptimized: boolean;
  readonly backupDays: number;
  /** RDS Proxy in front of MySQL for the functions; workers always connect directly. */
  readonly proxy: boolean;
}

export interface ApiConfig {
  /** Of all callers together, at each of the two ways in. */
  readonly ratePerSecond: number;
  readonly burst: number;
  /** A web ACL that limits each key to so many requests in five minutes, each address to five times as many; null: none. */
  readonly firewallRequestsPerKey: number | null;
  /** `iamName` is where signed requests go. The certificate covers both names; the zone's records are yours to make. */
  readonly domain: {
    readonly name: string;
    readonly iamName: string;
    readonly certificateArn: string;
  } | null;
  /** AWS accounts, besides our own, whose principals may sign requests. */
  readonly callerAccounts: readonly string[];
}

export interface WorkersConfig {
  readonly schedulers: number;
  readonly executorsMin: number;
  readonly executorsMax: number;
  /** Calls of one executor under way at once. */
  readonly executorSlots: number;
  /** Out of a hundred executors beyond `executorsMin`, so many on Spot capacity, which AWS may take back with two minutes' notice; 100: but one. */
  readonly executorSpotPercent: number;
  /** Jobs due within a minute for each executor that scaling aims at. */
  readonly dueSoonPerExecutor: number;
}

export interface CellConfig {
  /** Part of every stack's name: short, never changed. */
  readonly name: string;
  readonly region: string;
  readonly network: NetworkConfig;
  readonly data: DataConfig;
  readonly api: ApiConfig;
  readonly workers: WorkersConfig;
  /**
   * Of Lambda's concurrency in the account and region, so much for each tick alone, so that an API that takes all the rest keeps none from
   * running. Null: nothing, for accounts so small that fewer than the 100 which AWS wants unreserved would be left.
   */
  readonly tickConcurrency: number | null;
  /** How long a finished job stays in MySQL. */
  readonly archiveSucceededAfterSeconds: number;
  readonly archiveEndedAfterSeconds: number;
  readonly logRetentionDays: 7 | 30 | 90;
  /** Where alarms are sent; null: the topic has no subscriber of ours. */
  readonly alarmEmail: string | null;
  /** Minutes without a new job after which somebody is called: longer than the usual gap between two jobs. */
  readonly nothingMadeMinutes: number;
  /** X-Ray for the functions and the API. */
  readonly tracing: boolean;
}

export interface StageConfig {
  readonly name: StageName;
  readonly cells: readonly CellConfig[];
}

/** As everywhere that nobody says otherwise. */
const retention = {
  archiveSucceededAfterSeconds: reconcilerEnv.ARCHIVE_SUCCEEDED_AFTER_SECONDS.default,
  archiveEndedAfterSeconds: reconcilerEnv.ARCHIVE_ENDED_AFTER_SECONDS.default,
};

const devCell = {
  network: {
    cidr: "10.20.0.0/16",
    zones: ["a", "b"],
    natGateways: 1,
    executorEgress: "nat",
    flowLogs: "all",
    flowLogRetentionDays: 7,
    retainAddresses: false,
  },
  data: { acuMin: 0.5, acuMax: 8, ioOptimized: false, backupDays: 7, proxy: false },
  api: {
    ratePerSecond: 200,
    burst: 400,
    firewallRequestsPerKey: null,
    domain: null,
    callerAccounts: [],
  },
  workers: {
    schedulers: 2,
    executorsMin: 2,
    executorsMax: 4,
    executorSlots: 64,
    executorSpotPercent: 100,
    dueSoonPerExecutor: 2_000,
  },
  tickConcurrency: null,
  ...retention,
  logRetentionDays: 7,
  alarmEmail: null,
  nothingMadeMinutes: 60,
  tracing: true,
} as const satisfies Omit<CellConfig, "name" | "region">;

const prodCell = {
  network: {
    cidr: "10.10.0.0/16",
    zones: ["a", "b", "c"],
    natGateways: 3,
    executorEgress: "nat",
    // A flow is at least a log line for each connection; what was refused is what a reader looks for.
    flowLogs: "rejected",
    flowLogRetentionDays: 30,
    retainAddresses: true,
  },
  data: { acuMin: 2, acuMax: 64, ioOptimized: true, backupDays: 30, proxy: false },
  api: {
    ratePerSecond: 2_000,
    burst: 4_000,
    firewallRequestsPerKey: 60_000,
    domain: null,
    callerAccounts: [],
  },
  workers: {
    schedulers: 2,
    executorsMin: 2,
    executorsMax: 40,
    executorSlots: 64,
    executorSpotPercent: 0,
    dueSoonPerExecutor: 2_000,
  },
  // Runs of a minute and more overlap; a third may begin before the first is given up.
  tickConcurrency: 3,
  ...retention,
  logRetentionDays: 30,
  alarmEmail: null,
  nothingMadeMinutes: 15,
  tracing: false,
} as const satisfies Omit<CellConfig, "name" | "region">;

const stages: Readonly<Record<StageName, StageConfig>> = {
  dev: { name: "dev", cells: [{ ...devCell, name: "eu", region: "eu-west-1" }] },
  prod: { name: "prod", cells: [{ ...prodCell, name: "eu", region: "eu-west-1" }] },
  localstack: {
    name: "localstack",
    cells: [{ ...devCell, name: "local", region: "eu-west-1", tracing: false }],
  },
};

const defaultStage: StageName = "dev";
const ownContextKeys = ["stage"];
/** What the CDK's command line and cdk.json put beside our keys. */
const foreignContextKeys = /^(aws:cdk:|@aws-cdk|cli-telemetry$)/;

/** A mistake in what was asked for; the message is one line for the terminal. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly code = "CONFIG_INVALID";
}

/** The stage that `-c stage=` names (default dev). Throws ConfigError for an unknown stage or context key. */
export function readStage(node: Node): StageConfig {
  const context = node.getAllContext() as Record<string, unknown>;
  for (const key of Object.keys(context)) {
    if (ownContextKeys.includes(key) || foreignContextKeys.test(key)) continue;
    throw new ConfigError(`unknown context key "${key}": known is ${ownContextKeys.join(", ")}`);
  }
  const name = context.stage ?? defaultStage;
  if (name !== "dev" && name !== "prod" && name !== "localstack") {
    const known = Object.keys(stages).join(", ");
    throw new ConfigError(`unknown stage "${String(name)}": there are ${known}`);
  }
  return validateStage(stages[name]);
}

/** The stage itself, its figures consistent. Throws ConfigError. */
export function validateStage(stage: StageConfig): StageConfig {
  const { name, cells } = stage;
  if (cells.length === 0) throw new ConfigError(`stage ${name}: no cells`);
  // Metrics have no dimension for the cell: two in one region would be counted as one. Of two stages in one account and region
  // CloudFormation refuses the second (stacks/network-stack.ts).
  for (const part of ["name", "region"] as const) {
    const values = cells.map((cell) => cell[part]);
    if (new Set(values).size < values.length)
      throw new ConfigError(`stage ${name}: two cells have the same ${part}`);
  }
  for (const cell of cells) {
    const fault = wrongNumber(cell) ?? faultOf(cell) ?? connectionsFault(cell);
    if (fault !== null) throw new ConfigError(`stage ${name}, cell ${cell.name}: ${fault}`);
  }
  return stage;
}

interface Range {
  readonly min: number;
  readonly max: number;
}
const COUNT: Range = { min: 0, max: 1_000_000_000 };

/**
 * The first figure that whoever gets it would refuse as a number, named as here; null when there is none. What goes into the environment
 * of functions and workers has the bounds of their env.ts: they would refuse it only after the deploy.
 */
function wrongNumber({ network, data, api, workers, ...cell }: CellConfig): string | null {
  const { ARCHIVE_SUCCEEDED_AFTER_SECONDS, ARCHIVE_ENDED_AFTER_SECONDS } = reconcilerEnv;
  const figures: readonly [name: string, value: number | null, range: Range][] = [
    ["executorSlots", workers.executorSlots, executorEnv.EXECUTOR_SLOTS],
    [
      "archiveSucceededAfterSeconds",
      cell.archiveSucceededAfterSeconds,
      ARCHIVE_SUCCEEDED_AFTER_SECONDS,
    ],
    ["archiveEndedAfterSeconds", cell.archiveEndedAfterSeconds, ARCHIVE_ENDED_AFTER_SECONDS],
    ["schedulers", workers.schedulers, COUNT],
    ["executorsMin", workers.executorsMin, COUNT],
    ["executorsMax", workers.executorsMax, COUNT],
    ["executorSpotPercent", workers.executorSpotPercent, { min: 0, max: 100 }],
    ["dueSoonPerExecutor", workers.dueSoonPerExecutor, { min: 1, max: DUE_SOON_COUNTED_MAX }],
    ["natGateways", network.natGateways, COUNT],
    ["twice acuMin", 2 * data.acuMin, { min: 0, max: 512 }],
    ["twice acuMax", 2 * data.acuMax, { min: 0, max: 512 }],
    ["backupDays", data.backupDays, COUNT],
    ["ratePerSecond", api.ratePerSecond, { ...COUNT, min: 1 }],
    ["burst", api.burst, { ...COUNT, min: 1 }],
    // WAF takes no fewer, and no more than this for an address (constructs/firewall.ts).
    ["firewallRequestsPerKey", api.firewallRequestsPerKey, { min: 10, max: 400_000_000 }],
    ["tickConcurrency", cell.tickConcurrency, COUNT],
    // An alarm looks back a day at most.
    ["nothingMadeMinutes", cell.nothingMadeMinutes, { min: 0, max: 1_440 }],
  ];
  for (const [name, value, { min, max }] of figures)
    if (value !== null && !(Number.isInteger(value) && value >= min && value <= max))
      return `${name} is ${value}: it has to be a whole number from ${min} to ${max}`;
  return null;
}

/** What is wrong with a cell's figures; null when they fit. */
function faultOf({
  name,
  region,
  network,
  data,
  api,
  workers,
  ...cell
}: CellConfig): string | null {
  const { zones, natGateways } = network;
  const { executorsMin, executorsMax, dueSoonPerExecutor } = workers;
  const faults: readonly [boolean, string][] = [
    [!/^[a-z][a-z0-9]{0,9}$/.test(name), "its name has 1 to 10 small letters and digits"],
    [!/^[a-z]{2}(-[a-z]+)+-\d$/.test(region), `"${region}" is no region`],
    [!isPrivateBlock16(network.cidr), `${network.cidr} is no private /16`],
    [
      zones.length < 2 || zones.length > ZONES_MAX || new Set(zones).size < zones.length,
      `zones ${zones.join(", ")}: 2 or ${ZONES_MAX} different ones`,
    ],
    [zones.some((zone) => !/^[a-z]$/.test(zone)), `zones ${zones.join(", ")}: a letter each`],
    [
      natGateways !== 1 && natGateways !== zones.length,
      `${natGateways} NAT gateways for ${zones.length} zones: one, or one each`,
    ],
    [data.acuMin < 0.5, `${data.acuMin} ACU at least: below 0.5 the database pauses`],
    [data.acuMax < 8, `${data.acuMax} ACU at most: below 8 a peak is late`],
    [data.acuMax < data.acuMin, `${data.acuMin} to ${data.acuMax} ACU`],
    [data.backupDays < 1 || data.backupDays > 35, `${data.backupDays} days of backups: 1 to 35`],
    [api.burst < api.ratePerSecond, `a burst of ${api.burst} for ${api.ratePerSecond} a second`],
    [api.callerAccounts.some((id) => !/^\d{12}$/.test(id)), "an account id has 12 digits"],
    [workers.schedulers < 2, `${workers.schedulers} schedulers: at least 2`],
    [executorsMin < 2, `${executorsMin} executors: at least 2`],
    [executorsMax < executorsMin, `${executorsMin} to ${executorsMax} executors`],
    // Where the count ends before the target is passed, scaling is content and no more are started.
    [
      dueSoonPerExecutor * executorsMax > DUE_SOON_COUNTED_MAX,
      `${dueSoonPerExecutor} jobs due soon for each of ${executorsMax} executors (dueSoonPerExecutor × executorsMax): at most ${DUE_SOON_COUNTED_MAX} in all, as no more are counted`,
    ],
    [
      cell.tickConcurrency !== null && cell.tickConcurrency < 3,
      `${cell.tickConcurrency} runs of a tick at once: at least 3, as they overlap`,
    ],
    [cell.alarmEmail !== null && !cell.alarmEmail.includes("@"), "alarmEmail is no address"],
    [cell.nothingMadeMinutes < 5, `${cell.nothingMadeMinutes} minutes without a job: at least 5`],
  ];
  return faults.find(([isFault]) => isFault)?.[1] ?? null;
}

function isPrivateBlock16(cidr: string): boolean {
  const match = /^(10|172|192)\.(\d{1,3})\.0\.0\/16$/.exec(cidr);
  const second = Number(match?.[2]);
  if (match?.[1] === "10") return second <= 255;
  if (match?.[1] === "172") return second >= 16 && second <= 31;
  return match?.[1] === "192" && second === 168;
}
