import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { PacketReader } from "#test/support/mysql-packets.ts";

/** Passes a MySQL connection through and keeps what its client says: the statements as they go over the wire. */
export interface CountingProxy {
  readonly url: string;
  /** Statements since the last call, without the check of a new connection's settings. */
  take(): string[];
  close(): Promise<void>;
}

const SETTINGS_CHECK = "SELECT @@SESSION";

export async function openCountingProxy(mysqlUrl: string): Promise<CountingProxy> {
  const target = new URL(mysqlUrl);
  const statements: string[] = [];
  const server = createServer((client) => {
    const reader = new PacketReader();
    const upstream = connect(Number(target.port || 3306), target.hostname);
    client.on("data", (chunk) => {
      for (const { statement } of reader.push(chunk)) {
        if (statement !== null && !statement.startsWith(SETTINGS_CHECK)) statements.push(statement);
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => client.write(chunk));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(mysqlUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    take: () => statements.splice(0),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
