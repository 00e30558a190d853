/** The stages that can be deployed, and the reading of `-c stage=`. Sizes are constants: a change of one is a commit. */
import type { Node } from "constructs";

export type StageName = "dev" | "prod";

export type NetworkConfig = {
  /** Of the whole VPC, a /16: no two cells that may be peered share one. */
  readonly cidr: string;
  readonly zones: 2 | 3;
  /** One for each zone, or one that all share: cheaper, and gone with its zone. */
  readonly natGateways: number;
  readonly flowLogs: "all" | "rejected";
  readonly flowLogRetentionDays: 7 | 30;
  /** Keeps the addresses that tenants let through their firewalls when the stack is deleted. */
  readonly retainAddresses: boolean;
};

export type StageConfig = {
  readonly name: StageName;
  readonly region: string;
  readonly network: NetworkConfig;
};

const stages: Readonly<Record<StageName, StageConfig>> = {
  dev: {
    name: "dev",
    region: "eu-west-1",
    network: {
      cidr: "10.20.0.0/16",
      zones: 2,
      natGateways: 1,
      flowLogs: "all",
      flowLogRetentionDays: 7,
      retainAddresses: false,
    },
  },
  prod: {
    name: "prod",
    region: "eu-west-1",
    network: {
      cidr: "10.10.0.0/16",
      zones: 3,
      natGateways: 3,
      // A flow is at least a log line for each connection; what was refused is what a reader looks for.
      flowLogs: "rejected",
      flowLogRetentionDays: 30,
      retainAddresses: true,
    },
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
  if (name !== "dev" && name !== "prod") {
    const known = Object.keys(stages).join(", ");
    throw new ConfigError(`unknown stage "${String(name)}": there are ${known}`);
  }
  return validateStage(stages[name]);
}

/** The stage itself, its figures consistent. Throws ConfigError. */
export function validateStage(stage: StageConfig): StageConfig {
  const { name, region, network } = stage;
  const refuse = (what: string) => {
    throw new ConfigError(`stage ${name}: ${what}`);
  };
  if (!/^[a-z]{2}(-[a-z]+)+-\d$/.test(region)) refuse(`"${region}" is no region`);
  if (!isPrivateBlock16(network.cidr)) refuse(`${network.cidr} is no private /16`);
  if (network.natGateways !== 1 && network.natGateways !== network.zones)
    refuse(`${network.natGateways} NAT gateways for ${network.zones} zones: one, or one each`);
  return stage;
}

function isPrivateBlock16(cidr: string): boolean {
  const match = /^(10|172|192)\.(\d{1,3})\.0\.0\/16$/.exec(cidr);
  const second = Number(match?.[2]);
  if (match?.[1] === "10") return second <= 255;
  if (match?.[1] === "172") return second >= 16 && second <= 31;
  return match?.[1] === "192" && second === 168;
}
