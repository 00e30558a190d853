/**
 * A node of a cluster that does not exist, on an address of its own: as much of the native protocol, version 4, as our driver needs to
 * connect and to ask. It names other nodes as Cassandra does: their addresses, and no port.
 */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

export interface FakeNodeOptions {
  readonly host: string;
  readonly port: number;
  /** Addresses of the others. */
  readonly peers?: readonly string[];
  /** Takes connections and never says a word, not even of TLS. */
  readonly isSilent?: boolean;
  readonly tls?: TlsOptions;
}

export interface FakeNode {
  /** So many were opened. */
  readonly connections: number;
  close(): Promise<void>;
}

const HEADER_BYTES = 9;
const VERSION = 4;
const REQUEST = { startup: 0x01, options: 0x05, query: 0x07, register: 0x0b };
const RESPONSE = { error: 0x00, ready: 0x02, supported: 0x06, result: 0x08 };
const PROTOCOL_ERROR = 0x0a;
const ROWS = 2;
const ONE_TABLE = 1;
const TYPE = { varchar: 0x0d, inet: 0x10 };
const ADDRESSES = ["peer", "rpc_address"];

type Answer = readonly [opcode: number, body: Buffer];
type Row = Readonly<Record<string, string>>;

/** Returns once it listens. */
export async function openFakeNode(options: FakeNodeOptions): Promise<FakeNode> {
  const { host, port, peers = [], isSilent = false, tls } = options;
  const sockets = new Set<Socket>();
  let connections = 0;
  const serve = (socket: Socket) => {
    connections++;
    sockets.add(socket.on("error", () => {}));
    if (!isSilent) answerAll(socket, peers);
  };
  const server: Server =
    tls === undefined || isSilent ? createServer(serve) : createTlsServer(tls, serve);
  await new Promise<void>((ready, reject) => {
    server.once("error", reject).listen(port, host, ready);
  });
  return {
    get connections() {
      return connections;
    },
    async close() {
      const closed = new Promise((done) => server.close(done));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function answerAll(socket: Socket, peers: readonly string[]): void {
  let unread = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + unread.readInt32BE(5);
      if (unread.length < end) return;
      const [opcode, body] = answerOf(unread.subarray(0, end), peers);
      const header = Buffer.from([0x80 | VERSION, 0, unread[2] ?? 0, unread[3] ?? 0, opcode]);
      socket.write(Buffer.concat([header, int(body.length), body]));
      unread = unread.subarray(end);
    }
  });
}

function answerOf(frame: Buffer, peers: readonly string[]): Answer {
  if (frame[0] !== VERSION) {
    const says = "Invalid or unsupported protocol version";
    return [RESPONSE.error, Buffer.concat([int(PROTOCOL_ERROR), text(says)])];
  }
  switch (frame[4]) {
    case REQUEST.startup:
    case REQUEST.register:
      return [RESPONSE.ready, Buffer.alloc(0)];
    case REQUEST.options:
      return [RESPONSE.supported, short(0)];
    case REQUEST.query:
      return [RESPONSE.result, rowsOf(frame.toString("utf8", HEADER_BYTES), peers)];
    default:
      throw new Error(`a request that a fake node does not know: ${frame[4]}`);
  }
}

function rowsOf(query: string, peers: readonly string[]): Buffer {
  const node = { data_center: "datacenter1", release_version: "3.11.2" };
  if (query.includes("system.local")) return encode([node]);
  if (!query.includes("system.peers")) return encode([]);
  return encode(peers.map((address) => ({ ...node, peer: address, rpc_address: address })));
}

function encode(rows: readonly Row[]): Buffer {
  const names = Object.keys(rows[0] ?? {});
  const columns = names.map((name) =>
    Buffer.concat([text(name), short(ADDRESSES.includes(name) ? TYPE.inet : TYPE.varchar)]),
  );
  const cells = rows.flatMap((row) =>
    names.map((name) => {
      const value = row[name] ?? "";
      const bytes = ADDRESSES.includes(name) ? value.split(".").map(Number) : Buffer.from(value);
      return Buffer.concat([int(bytes.length), Buffer.from(bytes)]);
    }),
  );
  const table = [int(ROWS), int(ONE_TABLE), int(names.length), text("keyspace"), text("table")];
  return Buffer.concat([...table, ...columns, int(rows.length), ...cells]);
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function short(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([short(bytes.length), bytes]);
}
