/**
 * What entry points are connected to, as they see it: environment variables and grants. The data stack has the real ones; an
 * emulator that has neither Aurora nor Keyspaces gives others to the same constructs.
 */
import type { ISecurityGroup, IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { archiverEnv } from "#functions/archiver/env.ts";

/** A value for each variable that an env.ts declares: a missing one is a compile error, and a test finds one too many. */
export type Environment<D> = { readonly [Name in keyof D]: string };

export interface Database {
  readonly environment: {
    readonly MYSQL_URL: string;
    readonly MYSQL_SECRET_ARN: string;
    readonly DATABASE_PREFIX: string;
  };
  grantConnect(grantee: IGrantable): void;
}

type HistoryVariable = Extract<keyof typeof archiverEnv, `CASSANDRA_${string}`>;

export interface History {
  readonly environment: { readonly [Name in HistoryVariable]: string };
  grantRead(grantee: IGrantable): void;
  grantWrite(grantee: IGrantable): void;
}

/** What wraps the tenants' data keys. */
export interface SecretsKey {
  readonly environment: { readonly SECRETS_KEY_FILE: string; readonly SECRETS_KMS_KEY: string };
  /** New data keys, and unwrapping of those that only make fingerprints. */
  grantSeal(grantee: IGrantable): void;
  /** All of it: for who calls tenants' endpoints. */
  grantOpen(grantee: IGrantable): void;
}

/** Where something runs; null outside of a VPC. */
export type Placement = {
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  readonly securityGroups: ISecurityGroup[];
} | null;
