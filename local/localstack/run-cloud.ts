/**
 * AWS on one machine, as one process that the supervisor keeps: LocalStack with our stacks in it. LocalStack keeps nothing, so
 * when it ends this process ends too, and the next one deploys everything again. Environment: cloudEnv, and what infra reads.
 */
import { once } from "node:events";
import { readEnv } from "#adapters/system/read-env.ts";
import { SetupError } from "../setup-error.ts";
import { listenForStop, runMain, say } from "../terminal.ts";
import { cloudEnv } from "./cloud-env.ts";
import { deployStacks, synthesiseStacks } from "./deploy.ts";
import { type LocalstackServer, startLocalstack } from "./server.ts";

async function main(): Promise<void> {
  const env = readEnv(cloudEnv, process.env);
  const { LOCALSTACK_PORT: port, LOCALSTACK_DIR: dir } = env;
  const { stop } = listenForStop();
  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  const deployment = { endpoint: `http://127.0.0.1:${port}`, dir, env: process.env, say, signal };
  const python = env.LOCALSTACK_PYTHON || null;
  // Templates are made while LocalStack comes up.
  const synthesised = synthesiseStacks(deployment);
  synthesised.catch(() => {});
  let server: LocalstackServer | undefined;
  try {
    const startedAt = performance.now();
    server = await startLocalstack({ port, dir, python, env: process.env, signal });
    void server.ended.then(() => ended.abort());
    say(`started in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
    await synthesised;
    await deployStacks(deployment);
    if (!signal.aborted) await once(signal, "abort");
    if (!stop.aborted) throw new SetupError("LocalStack ended");
  } catch (error) {
    // Whatever was under way is given up when it has to stop.
    if (!stop.aborted) throw error;
  } finally {
    await Promise.allSettled([server?.stop(), synthesised]);
  }
}

await runMain(main);
process.exit();
