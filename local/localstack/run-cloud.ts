/**
 * AWS on one machine, as one process that the supervisor keeps: LocalStack with our stacks in it. LocalStack keeps nothing, so
 * when it ends this process ends too, and the next one deploys everything again. Environment: cloudEnv, and what infra reads.
 */
import { readEnv } from "#adapters/system/read-env.ts";
import { runMain, say } from "../terminal.ts";
import { cloudEnv } from "./cloud-env.ts";
import { deployStacks, synthesiseStacks } from "./deploy.ts";
import { startLocalstack } from "./server.ts";

async function main(): Promise<void> {
  const env = readEnv(cloudEnv, process.env);
  const { LOCALSTACK_PORT: port, LOCALSTACK_DIR: dir } = env;
  const deployment = { endpoint: `http://127.0.0.1:${port}`, dir, env: process.env, say };
  const python = env.LOCALSTACK_PYTHON || null;
  // Templates are made while LocalStack comes up.
  const synthesised = synthesiseStacks(deployment);
  synthesised.catch(() => {});
  const startedAt = performance.now();
  const server = await startLocalstack({ port, dir, python, env: process.env });
  say(`started in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  const stop = async (code: number) => {
    await server.stop();
    process.exit(code);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void stop(0));
  void server.ended.then(() => stop(1));
  try {
    await synthesised;
    await deployStacks(deployment);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

await runMain(main);
if (process.exitCode) process.exit();
