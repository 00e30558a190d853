/** Where history is, for every function that asks it: pure data, part of their env.ts. */
export const historyEnv = {
  /** `host:port`, several separated by commas. */
  CASSANDRA_CONTACT_POINTS: { kind: "text" },
  CASSANDRA_KEYSPACE: { kind: "text", default: "scheduler" },
  /** In AWS the region. */
  CASSANDRA_DATACENTER: { kind: "text", default: "datacenter1" },
  /** `sigv4`: Amazon Keyspaces, with TLS and the function's own role. */
  CASSANDRA_AUTH: { kind: "choice", choices: ["none", "sigv4"], default: "none" },
} as const;
