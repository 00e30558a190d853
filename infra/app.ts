/**
 * The system in AWS. A cell, from top to bottom as it is deployed (docs/architecture.md):
 *
 *   network        tenants' endpoints ◄── NAT ◄── executors │ services │ data
 *   data           Aurora MySQL, Keyspaces, the key of secrets: what is kept
 *   schema         migrations, before anything newer starts
 *   api            API Gateway by key and by signature ──► tasks-api, jobs-api
 *   ticks          EventBridge, every minute ──► reconciler, archiver
 *   workers        Fargate: schedulers, executors
 *   observability  dashboard, alarms
 */
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { Cell } from "./cell.ts";
import { ConfigError, readStage } from "./config.ts";
import { EmulatedCell } from "./emulated-cell.ts";

const app = new App();
try {
  const stage = readStage(app.node);
  for (const cell of stage.cells)
    if (stage.name === "localstack") new EmulatedCell(app, cell, process.env);
    else new Cell(app, stage.name, cell);

  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  app.synth();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(`infra: ${error.message}`);
  process.exitCode = 1;
}
