/** One driver client as we need it: LOCAL_QUORUM, no timestamps of its own, no schema kept, bounded waits. */
import { type auth, Client, type ClientOptions, policies, types } from "cassandra-driver";
import { ConfigurationInvalid } from "#core/domain/errors.ts";

/** How Amazon Keyspaces is reached: see adapters/aws/keyspaces-security.ts. */
export interface CassandraSecurity {
  readonly authProvider: auth.AuthProvider;
  readonly sslOptions: NonNullable<ClientOptions["sslOptions"]>;
}

export interface CassandraConnection {
  /** `host:port` of one or more nodes, separated by commas; the port defaults to 9042. Nodes that they name have the first one's. */
  readonly contactPoints: string;
  /** Default: that of a single node. Keyspaces: the region. */
  readonly localDataCenter?: string | undefined;
  readonly security?: CassandraSecurity | undefined;
}

const DATA_CENTER_DEFAULT = "datacenter1";
const PORT_DEFAULT = 9042;
const CONNECT_TIMEOUT_MS = 1_500;
/** Of a request's time: a node that cannot be reached takes it twice, as a contact point and as one that another node names. */
const CONNECT_SHARE = 1 / 3;
/** Between attempts to reach one node again while others serve. */
const RECONNECT_MS = 500;
const HEARTBEAT_MS = 5_000;
/** A connection that leaves so many requests unanswered is closed. */
const UNANSWERED_MAX = 8;

/** Checks the form of CASSANDRA_CONTACT_POINTS. Throws ConfigurationInvalid. */
export function parseContactPoints(text: string): string[] {
  const points = text.split(",").map((point) => point.trim());
  for (const point of points) {
    const match = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(point);
    const port = Number(match?.[1] ?? PORT_DEFAULT);
    if (match === null || port < 1 || port > 65_535) {
      throw new ConfigurationInvalid(
        "CASSANDRA_CONTACT_POINTS has to look like 127.0.0.1:9042, several separated by commas",
      );
    }
  }
  return points;
}

function portOf(point: string): number {
  return Number(/:(\d+)$/.exec(point)?.[1] ?? PORT_DEFAULT);
}

/** Makes a client that is not connected yet. `timeoutMs` bounds every request of its own. */
export function makeClient(connection: CassandraConnection, timeoutMs: number): Client {
  const { localDataCenter = DATA_CENTER_DEFAULT, security } = connection;
  const contactPoints = parseContactPoints(connection.contactPoints);
  const client = new Client({
    contactPoints,
    localDataCenter,
    // Nodes tell each other's addresses without a port.
    protocolOptions: { port: portOf(contactPoints[0] ?? "") },
    ...security,
    policies: {
      reconnection: new policies.reconnection.ConstantReconnectionPolicy(RECONNECT_MS),
      // Only what we say ourselves: Keyspaces refuses timestamps on tables that have not asked for them.
      timestampGeneration: null as unknown as policies.timestampGeneration.TimestampGenerator,
    },
    pooling: { heartBeatInterval: HEARTBEAT_MS },
    socketOptions: {
      connectTimeout: Math.min(Math.floor(timeoutMs * CONNECT_SHARE), CONNECT_TIMEOUT_MS),
      readTimeout: timeoutMs,
      defunctReadTimeoutThreshold: UNANSWERED_MAX,
    },
    queryOptions: { consistency: types.consistencies.localQuorum },
    isMetadataSyncEnabled: false,
    monitorReporting: { enabled: false },
  });
  // When its last connection was lost the driver replaces its nodes and forgets the old ones with their timers and reconnections
  // (4.10): they would keep a process alive for ever.
  client.on("hostRemove", (host: { shutdown?: () => Promise<void> }) => {
    host.shutdown?.().catch(() => {});
  });
  return client;
}
