/**
 * One driver client as we need it: LOCAL_QUORUM, prepared, no client timestamps of its own, reconnects twice a second for ever.
 * `executeWithin` is the only way to the database: it ends by its deadline whatever the driver does, and retries what may pass.
 */
import { type auth, Client, type ClientOptions, policies, types } from "cassandra-driver";
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { deadlineFault, readFault, translate } from "./errors.ts";

/** How Amazon Keyspaces is reached: see adapters/aws/keyspaces-security.ts. */
export interface CassandraSecurity {
  readonly authProvider: auth.AuthProvider;
  readonly sslOptions: NonNullable<ClientOptions["sslOptions"]>;
}

export interface CassandraConnection {
  /** `host:port` of one or more nodes, separated by commas; the port defaults to 9042. */
  readonly contactPoints: string;
  /** Default: that of a single node. Keyspaces: the region. */
  readonly localDataCenter?: string | undefined;
  readonly security?: CassandraSecurity | undefined;
}

export interface Request {
  readonly query: string;
  readonly params: readonly unknown[];
  readonly fetchSize?: number;
  readonly pageState?: string | undefined;
  /** False for DDL, which has nothing to prepare. */
  readonly prepare?: boolean;
  /** On `performance.now()`. */
  readonly deadlineAt: number;
}

const DATA_CENTER_DEFAULT = "datacenter1";
const CONNECT_TIMEOUT_MS = 1_500;
const RECONNECT_MS = 500;
const HEARTBEAT_MS = 5_000;
/** A connection that leaves so many requests unanswered is closed. */
const UNANSWERED_MAX = 8;
/** Together longer than a reconnection takes: an idle connection that was cut costs a request nothing but time. */
const BACKOFFS_MS = [50, 150, 450];

/** Checks the form of CASSANDRA_CONTACT_POINTS. Throws ConfigurationInvalid. */
export function parseContactPoints(text: string): string[] {
  const points = text.split(",").map((point) => point.trim());
  for (const point of points) {
    const match = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(point);
    const port = Number(match?.[1] ?? 9042);
    if (match === null || port < 1 || port > 65_535) {
      throw new ConfigurationInvalid(
        "CASSANDRA_CONTACT_POINTS has to look like 127.0.0.1:9042, several separated by commas",
      );
    }
  }
  return points;
}

/** Makes a client; it connects with its first request. `timeoutMs` bounds every request of the driver. */
export function makeClient(connection: CassandraConnection, timeoutMs: number): Client {
  const { contactPoints, localDataCenter = DATA_CENTER_DEFAULT, security } = connection;
  return new Client({
    contactPoints: parseContactPoints(contactPoints),
    localDataCenter,
    ...security,
    policies: {
      reconnection: new policies.reconnection.ConstantReconnectionPolicy(RECONNECT_MS),
      // Only what we say ourselves: Keyspaces refuses timestamps on tables that have not asked for them.
      timestampGeneration: null as unknown as policies.timestampGeneration.TimestampGenerator,
    },
    pooling: { heartBeatInterval: HEARTBEAT_MS },
    socketOptions: {
      connectTimeout: Math.min(timeoutMs, CONNECT_TIMEOUT_MS),
      readTimeout: timeoutMs,
      defunctReadTimeoutThreshold: UNANSWERED_MAX,
    },
    queryOptions: { consistency: types.consistencies.localQuorum },
    // We never ask the driver about the schema.
    isMetadataSyncEnabled: false,
    monitorReporting: { enabled: false },
  });
}

/**
 * Runs one idempotent statement. Throws StoreUnavailable at the deadline at the latest, StoreRefused when Cassandra says
 * no.
 */
export async function executeWithin(client: Client, request: Request): Promise<types.ResultSet> {
  for (let tries = 0; ; tries++) {
    try {
      return await executeOnce(client, request);
    } catch (error) {
      const fault = readFault(error);
      if (fault === null) throw error;
      const backoffMs = BACKOFFS_MS[tries];
      const again =
        fault.kind === "transient" &&
        backoffMs !== undefined &&
        performance.now() + backoffMs < request.deadlineAt;
      if (!again) throw translate(fault);
      await new Promise((wake) => setTimeout(wake, backoffMs));
    }
  }
}

function executeOnce(client: Client, request: Request): Promise<types.ResultSet> {
  const leftMs = Math.ceil(request.deadlineAt - performance.now());
  if (leftMs <= 0) throw deadlineFault();
  const execution = client.execute(request.query, [...request.params], {
    prepare: request.prepare ?? true,
    isIdempotent: true,
    readTimeout: leftMs,
    ...(request.fetchSize === undefined ? {} : { fetchSize: request.fetchSize }),
    ...(request.pageState === undefined ? {} : { pageState: request.pageState }),
  });
  return within(execution, leftMs);
}

/** The result of `work`, or a fault after `ms`: what `work` comes to later is nobody's concern. */
export function within<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(deadlineFault()), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
