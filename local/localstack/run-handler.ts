/**
 * The process of one Lambda execution environment: loads the handler that `_HANDLER` names, then answers invocations one at a time,
 * a line of JSON each, on stdin and stdout. What the handler prints goes to stderr, which LocalStack keeps as the function's log.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

type Handler = (event: unknown, context: object) => unknown;
/** As node_executor/executor.py writes it; `timeout` in seconds. */
type Invocation = {
  readonly "invoke-id": string;
  readonly "invoked-function-arn": string;
  readonly payload: string;
  readonly timeout: number;
};
type Answer = { readonly error: boolean; readonly body: string };

const answerWith = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
const send = (line: object) => void answerWith(`${JSON.stringify(line)}\n`);

const handler = await loadHandler();
send({ ready: typeof handler === "function" });
for await (const line of createInterface({ input: process.stdin }))
  send(await invoke(JSON.parse(line) as Invocation));
// LocalStack has closed the pipe: whatever the handler keeps open goes with it.
process.exit();

async function loadHandler(): Promise<Handler> {
  const { _HANDLER: name = "", LAMBDA_TASK_ROOT: root = "." } = process.env;
  const at = name.lastIndexOf(".");
  const file = [".mjs", ".js", ".cjs"]
    .map((extension) => resolve(root, name.slice(0, at) + extension))
    .find((path) => existsSync(path));
  if (file === undefined) throw new Error(`no file in ${root} has the handler ${name}`);
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const exported = module[name.slice(at + 1)];
  const inDefault = (module.default as Record<string, unknown> | undefined)?.[name.slice(at + 1)];
  return (exported ?? inDefault) as Handler;
}

async function invoke(invocation: Invocation): Promise<Answer> {
  const timeoutMs = invocation.timeout * 1_000;
  const endsAt = performance.now() + timeoutMs;
  const tooLate = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => {
    const message = `${invocation["invoke-id"]} Task timed out after ${invocation.timeout} seconds`;
    tooLate.resolve(failure("Sandbox.Timedout", message));
  }, timeoutMs);
  try {
    return await Promise.race([run(invocation, endsAt), tooLate.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function run(invocation: Invocation, endsAt: number): Promise<Answer> {
  const { AWS_LAMBDA_FUNCTION_NAME: functionName, AWS_LAMBDA_FUNCTION_MEMORY_SIZE: memory } =
    process.env;
  const context = {
    functionName,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: memory,
    awsRequestId: invocation["invoke-id"],
    invokedFunctionArn: invocation["invoked-function-arn"],
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, endsAt - performance.now()),
  };
  try {
    const result = await handler(JSON.parse(invocation.payload || "{}"), context);
    return { error: false, body: JSON.stringify(result ?? null) };
  } catch (error) {
    if (!(error instanceof Error)) return failure("Error", String(error));
    return failure(error.name, error.message, error.stack?.split("\n"));
  }
}

/** As the runtime of Lambda tells it. */
function failure(errorType: string, errorMessage: string, trace: readonly string[] = []): Answer {
  return { error: true, body: JSON.stringify({ errorType, errorMessage, trace }) };
}
