import { join, resolve } from "node:path";
import { runCommand } from "../run-command.ts";
import { SetupError } from "../setup-error.ts";

/** The stage `localstack` of infra/ put into LocalStack, and taken out again, by the CDK's own command line. */

const ROOT = resolve(import.meta.dirname, "../..");
const CDK = join(ROOT, "node_modules", "aws-cdk", "bin", "cdk");
const STEP_MS = 5 * 60_000;
const REGION = "eu-west-1";
const ACCOUNT = "000000000000";
/** Infra gives the API that takes keys this id (emulated-cell.ts). */
const API_ID = "by-key";

export interface Deployment {
  /** Of LocalStack: `http://127.0.0.1:4566`. */
  readonly endpoint: string;
  /** For the CDK's files. */
  readonly dir: string;
  /** What the stage reads: emulated-cell.ts. */
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
  /** Ends the step that is under way; it then throws. */
  readonly signal?: AbortSignal;
}

/** Where the deployed API answers: what is before `/v1`. */
export function deployedUrl(port: number): string {
  return `http://127.0.0.1:${port}/_aws/execute-api/${API_ID}/live`;
}

/** Makes the templates; needs no LocalStack yet. Says how long it took. Throws SetupError. */
export async function synthesiseStacks(deployment: Deployment): Promise<void> {
  const stage = ["--context", "stage=localstack", "--output", join(deployment.dir, "cdk.out")];
  await step(deployment, "synthesised", ["synth", "--quiet", ...stage]);
}

/** Bootstraps, then deploys what was synthesised; says how long each step took. Throws SetupError. */
export async function deployStacks(deployment: Deployment): Promise<void> {
  const app = join(deployment.dir, "cdk.out");
  await step(deployment, "bootstrapped", ["bootstrap", `aws://${ACCOUNT}/${REGION}`, "--app", app]);
  const deploy = ["deploy", "**", "--require-approval", "never", "--concurrency", "2"];
  await step(deployment, "deployed", [...deploy, "--app", app]);
}

/** Takes the stacks out again. Throws SetupError. */
export async function destroyStacks(deployment: Deployment): Promise<void> {
  const app = join(deployment.dir, "cdk.out");
  await step(deployment, "destroyed", ["destroy", "**", "--force", "--app", app]);
}

async function step({ endpoint, env, say, signal }: Deployment, done: string, args: string[]) {
  const startedAt = performance.now();
  const result = await runCommand(process.execPath, [CDK, ...args], {
    timeoutMs: STEP_MS,
    signal,
    env: {
      ...env,
      // The app itself is `node infra/app.ts`: with this Node.
      PATH: `${join(process.execPath, "..")}:${env.PATH}`,
      AWS_ENDPOINT_URL: endpoint,
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_REGION: REGION,
      AWS_EC2_METADATA_DISABLED: "true",
      CI: "true",
    },
  });
  if (result.code !== 0) {
    const words = `${result.stdout}\n${result.stderr}`.trimEnd().split("\n").slice(-15).join("\n");
    throw new SetupError(`not ${done} (cdk ${args[0]}):\n${words}`);
  }
  say(`${done} in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
}
