/**
 * The system in AWS, read from top to bottom like docs/architecture.md:
 *
 *   tenants' endpoints ◄── NAT ◄── executors ─┐
 *                                             ├──► database
 *              API, ticks, scheduler ─────────┘
 */
import { App, Tags } from "aws-cdk-lib";
import { ConfigError, readStage } from "./config.ts";
import { NetworkStack } from "./stacks/network-stack.ts";

const app = new App();
try {
  const stage = readStage(app.node);
  new NetworkStack(app, `at-and-cron-${stage.name}-network`, stage);

  Tags.of(app).add("application", "at-and-cron");
  Tags.of(app).add("stage", stage.name);
  app.synth();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(`infra: ${error.message}`);
  process.exitCode = 1;
}
