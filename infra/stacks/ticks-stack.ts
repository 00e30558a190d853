/** What runs every minute: the reconciler, whose duties are told in core/services/reconciler/reconcile-pass.ts, and the archiver, which moves finished jobs. */
import { Duration, Stack } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { SqsDestination } from "aws-cdk-lib/aws-lambda-destinations";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { type archiverEnv, archiverTimeoutSeconds } from "#functions/archiver/env.ts";
import { type reconcilerEnv, reconcilerTimeoutSeconds } from "#functions/reconciler/env.ts";
import type { CellConfig } from "../config.ts";
import { acknowledge } from "../constructs/acknowledge.ts";
import type { Database, History, Placement } from "../constructs/connections.ts";
import { NodeFunction } from "../constructs/node-function.ts";

export interface TicksStackProps {
  readonly cell: Pick<
    CellConfig,
    | "tickConcurrency"
    | "archiveSucceededAfterSeconds"
    | "archiveEndedAfterSeconds"
    | "logRetentionDays"
    | "tracing"
  >;
  readonly placement: Placement;
  readonly database: Database;
  readonly history: History;
}

/** EventBridge tries an invocation that Lambda does not take again so often, and so long: the next tick comes anyway. */
const RETRIES = 2;
const TICK_AGE_MAX = Duration.minutes(1);

export class TicksStack extends Stack {
  /** Ticks that were not run, or failed: none is made up for, as the next one does its work. */
  readonly deadLetters: Queue;
  readonly functions: Readonly<Record<"reconciler" | "archiver", NodeFunction<unknown>>>;

  constructor(scope: Construct, id: string, props: TicksStackProps) {
    super(scope, id);
    this.deadLetters = new Queue(this, "DeadLetters", {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    acknowledge(this.deadLetters, {
      "AwsSolutions-SQS3": "It is the dead letter queue, of the rules and of both functions",
    });
    this.functions = this.#makeFunctions(props);
    for (const [name, tick] of Object.entries(this.functions))
      new Rule(this, `every-minute-${name}`, {
        description: `Runs the ${name}`,
        schedule: Schedule.rate(Duration.minutes(1)),
        targets: [
          new LambdaFunction(tick, {
            deadLetterQueue: this.deadLetters,
            retryAttempts: RETRIES,
            maxEventAge: TICK_AGE_MAX,
          }),
        ],
      });
  }

  #makeFunctions({ cell, placement, database, history }: TicksStackProps) {
    const setting = {
      placement,
      logRetention: cell.logRetentionDays,
      tracing: cell.tracing,
      onFailure: new SqsDestination(this.deadLetters),
      reservedConcurrency: cell.tickConcurrency,
    };
    const common = {
      ...database.environment,
      LOG_LEVEL: "info",
      ARCHIVE_SUCCEEDED_AFTER_SECONDS: String(cell.archiveSucceededAfterSeconds),
      ARCHIVE_ENDED_AFTER_SECONDS: String(cell.archiveEndedAfterSeconds),
    };
    const reconciler = new NodeFunction<typeof reconcilerEnv>(this, "Reconciler", {
      ...setting,
      entry: "reconciler",
      environment: common,
      description: "Gives jobs of dead executors back",
      timeoutSeconds: reconcilerTimeoutSeconds,
      memoryMb: 256,
    });
    const archiver = new NodeFunction<typeof archiverEnv>(this, "Archiver", {
      ...setting,
      entry: "archiver",
      environment: { ...common, ...history.environment },
      description: "Moves finished jobs to history",
      timeoutSeconds: archiverTimeoutSeconds,
      memoryMb: 512,
    });
    for (const each of [reconciler, archiver]) database.grantConnect(each);
    history.grantWrite(archiver);
    return { reconciler, archiver };
  }
}
