/** Opens history as the environment says. */
import { keyspacesSecurity } from "#adapters/aws/keyspaces-security.ts";
import { openHistory } from "#adapters/cassandra/history-store.ts";
import type { EnvValues } from "#adapters/system/read-env.ts";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import type { HistoryStore } from "#core/ports/history-store.ts";
import type { historyEnv } from "./history-env.ts";
import { processEnv } from "./process-env.ts";

export type HistoryEnv = EnvValues<typeof historyEnv>;

/** Connects when it is first used, so that a database that is away is an error of each call. `requestTimeoutMs` bounds each of them. */
export function connectHistory(env: HistoryEnv, requestTimeoutMs: number): HistoryStore {
  const contactPoints = env.CASSANDRA_CONTACT_POINTS;
  return openHistory({
    contactPoints,
    keyspace: env.CASSANDRA_KEYSPACE,
    localDataCenter: env.CASSANDRA_DATACENTER,
    security: env.CASSANDRA_AUTH === "sigv4" ? securityOf(env) : undefined,
    requestTimeoutMs,
  });
}

/** How Keyspaces is reached, with the role of the function. */
export function securityOf(
  env: Pick<HistoryEnv, "CASSANDRA_CONTACT_POINTS" | "CASSANDRA_DATACENTER">,
) {
  const [host = ""] = env.CASSANDRA_CONTACT_POINTS.split(/[:,]/);
  return keyspacesSecurity({ region: env.CASSANDRA_DATACENTER, host, credentials });
}

/** Those of the function's role: the platform keeps them in the environment. */
async function credentials() {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = processEnv();
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new ConfigurationInvalid("configuration: there are no AWS credentials");
  return { accessKeyId, secretAccessKey, sessionToken };
}
