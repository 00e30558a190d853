/**
 * A cluster whose nodes name others, some of which cannot be reached. Amazon Keyspaces is one: its endpoint names nine nodes, on a port
 * that is not Cassandra's.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auth, type ClientOptions, types } from "cassandra-driver";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { pickPort } from "#local/hold-directory.ts";
import { type FakeNode, type FakeNodeOptions, openFakeNode } from "#test/support/fake-cassandra.ts";
import { type CassandraConnection, makeClient } from "./client.ts";
import { CassandraSession } from "./session.ts";

const FIRST = "127.0.0.1";
const SECOND = "127.0.0.2";
const REQUEST_MS = 1_200;
/** TLS without certificates. */
const CIPHERS = { ciphers: "PSK-AES128-GCM-SHA256", maxVersion: "TLSv1.2" } as const;
const KEY = Buffer.alloc(16, 1);

async function open(options: FakeNodeOptions): Promise<FakeNode> {
  const node = await openFakeNode(options);
  after(() => node.close());
  return node;
}

/** Asks as often as it is called, each time for as long as a request may last. */
function asker(connection: CassandraConnection): () => Promise<unknown> {
  const session = new CassandraSession(connection, REQUEST_MS);
  after(() => session.close());
  return () => {
    const deadlineAt = performance.now() + REQUEST_MS;
    return session.execute({ query: "SELECT a FROM b.c", params: [], prepare: false, deadlineAt });
  };
}

test("a majority of the region answers, as Keyspaces asks for: one node would do for a machine's Cassandra", async () => {
  const client = makeClient({ contactPoints: FIRST }, REQUEST_MS);
  const { options } = client as unknown as { options: ClientOptions };
  assert.equal(options.queryOptions?.consistency, types.consistencies.localQuorum);
  await client.shutdown();
});

test("nodes that a contact point names are reached on its port", async () => {
  const port = await pickPort(0);
  await open({ host: FIRST, port, peers: [SECOND] });
  const second = await open({ host: SECOND, port });
  await asker({ contactPoints: `${FIRST}:${port}` })();
  assert.equal(second.connections, 1);
});

test("a node that cannot be reached costs no request its deadline, be it a contact point too", async () => {
  const port = await pickPort(0);
  const tls = { ...CIPHERS, pskCallback: () => KEY };
  await open({ host: FIRST, port, peers: [SECOND], tls });
  const second = await open({ host: SECOND, port, isSilent: true });
  const ask = asker({
    contactPoints: `${SECOND}:${port},${FIRST}:${port}`,
    security: {
      authProvider: new auth.PlainTextAuthProvider("user", "password"),
      sslOptions: {
        ...CIPHERS,
        pskCallback: () => ({ psk: KEY, identity: "test" }),
        checkServerIdentity: () => undefined,
      },
    },
  });
  await ask();
  assert.ok(second.connections >= 1);
});

test("a node that falls silent while it is connected to costs one request, and no more", async () => {
  const port = await pickPort(0);
  await open({ host: FIRST, port, peers: [SECOND] });
  const second = await open({ host: SECOND, port, isSilent: true });
  const ask = asker({ contactPoints: `${FIRST}:${port}` });
  await assert.rejects(ask(), StoreUnavailable);
  assert.equal(second.connections, 1);
  await ask();
});
