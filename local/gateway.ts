/**
 * The API on one machine: `node local/gateway.ts` answers the route table on 127.0.0.1:API_PORT with the handlers that run in AWS.
 * Environment: gateway-env.ts.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { readEnv } from "#adapters/system/read-env.ts";
import { describeError } from "#core/domain/describe-error.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { gatewayEnv } from "./gateway-env.ts";
import { createGateway, GATEWAY_LIMITS, type Handlers } from "./gateway-server.ts";

/** Requests under way get this long when the process is told to stop. */
const STOP_MS = 10_000;

/** The handlers open their connections when they are loaded: not before the configuration is known to be right. */
async function loadHandlers(): Promise<Handlers> {
  const [tasks, jobs] = await Promise.all([
    import("#functions/tasks-api/handler.ts"),
    import("#functions/jobs-api/handler.ts"),
  ]);
  return { "tasks-api": tasks.handler, "jobs-api": jobs.handler };
}

function fail(code: number, message: string): never {
  console.error(`gateway: ${message}`);
  process.exit(code);
}

async function main(): Promise<void> {
  const env = readEnv(gatewayEnv, process.env, { ownPrefix: "API_" });
  const limits = {
    ...GATEWAY_LIMITS,
    ratePerSecond: env.API_RATE_PER_SECOND,
    burst: env.API_BURST,
  };
  const server = createGateway(
    await loadHandlers(),
    (error) => console.error("gateway: request not served:", describeError(error)),
    limits,
  );
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => {
      setTimeout(() => process.exit(1), STOP_MS).unref();
      server.close(() => process.exit(0));
      server.closeIdleConnections();
    });
  server.listen(env.API_PORT, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  console.log(`gateway listening on http://127.0.0.1:${port}`);
}

try {
  await main();
} catch (error) {
  // As the workers do: 2 says that trying again cannot help.
  if (error instanceof ConfigurationInvalid) fail(2, error.message);
  if ((error as NodeJS.ErrnoException).code === "EADDRINUSE")
    fail(1, "the port is taken: set API_PORT to another one, or stop what listens there");
  throw error;
}
