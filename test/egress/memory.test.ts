/** What endpoints send, and how many of them there are, does not decide our memory. The endpoints are a process of their own. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import type { TenantId } from "#core/domain/ids.ts";
import { endOf, openTestCaller, type TestCaller } from "./call.ts";
import { openDnsServer } from "./dns-server.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const HOSTS = 20_000;
const HOSTS_WARM = 8_000;
const AT_ONCE = 50;
const CALLS = 300;
const TURNS = 20;
const BOMB_BYTES = 20 * MIB;

if (process.env.EGRESS_ENDPOINTS === "1") await serve();
else runTests();

/** The endpoints and a name server that sends every name to them. Tells the port and the name server's address. */
async function serve(): Promise<void> {
  // Members of a gzip file one after the other are one file: 20 MB that unpack to 20 GB.
  const member = gzipSync(Buffer.alloc(20 * MIB));
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/chunked") flood(response, Buffer.alloc(65_536, "c"), 10 * GIB, {});
    else if (request.url === "/bomb")
      flood(response, member, BOMB_BYTES, { "content-encoding": "gzip" });
    else response.end("ok");
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", 4_096);
  await once(server, "listening");
  const dns = await openDnsServer(() => ({ addresses: ["127.0.0.1"], ttlSeconds: 300 }));
  process.send?.({ port: (server.address() as AddressInfo).port, nameServer: dns.address });
  process.once("disconnect", () => process.exit(0));
}

function flood(
  response: ServerResponse<IncomingMessage>,
  piece: Buffer,
  bytes: number,
  headers: Record<string, string>,
): void {
  response.writeHead(200, headers);
  let left = bytes;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= piece.length;
      if (!response.write(piece)) return;
    }
    response.end();
  };
  response.on("drain", more);
  more();
}

function runTests(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let endpoints: ChildProcess;
  let port = 0;
  let own: TestCaller;

  before(async () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    endpoints = fork(import.meta.filename, {
      env: { ...env, EGRESS_ENDPOINTS: "1" },
      execArgv: [],
    });
    const [ready] = (await once(endpoints, "message")) as [{ port: number; nameServer: string }];
    port = ready.port;
    const policy = createEgressPolicy({ allow: "127.0.0.0/8:*" });
    own = openTestCaller({ policy, nameServers: [ready.nameServer] });
  });

  after(async () => {
    await own.caller.close();
    endpoints.kill();
    await once(endpoints, "exit");
  });

  /** After what ended connections leave to later turns of the event loop has gone too. */
  const memory = async () => {
    for (let turn = 0; turn < TURNS; turn++) {
      await setImmediate();
      collect();
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    return { rssMib: rss / MIB, usedMib: (heapUsed + external) / MIB };
  };

  const each = async (count: number, call: (index: number) => Promise<void>) => {
    let next = 0;
    const worker = async () => {
      while (next < count) await call(next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  };

  for (const path of ["chunked", "bomb"])
    test(`/${path}: ${CALLS} calls keep their first 1,024 bytes, and memory stays`, async (t) => {
      const call = async () => {
        const outcome = await own.call(`http://a.test:${port}/${path}`, { timeoutMs: 20_000 });
        assert.equal(endOf(outcome), 200);
        assert.ok(outcome.kind === "answered" && outcome.responseBody.length <= 1_024);
        // Still packed: what is inside are zeros.
        if (path === "bomb") assert.ok(outcome.responseBody.startsWith("\u001f\ufffd\b"));
      };
      await each(AT_ONCE, call);
      const start = await memory();
      const startMaxMib = process.resourceUsage().maxRSS / 1024;
      await each(CALLS, call);
      const end = await memory();
      const maxMib = process.resourceUsage().maxRSS / 1024;
      t.diagnostic(
        `${CALLS} calls: used ${start.usedMib.toFixed(1)} → ${end.usedMib.toFixed(1)} MiB, highest resident ${startMaxMib.toFixed(0)} → ${maxMib.toFixed(0)} MiB`,
      );
      assert.ok(
        end.usedMib - start.usedMib < 16,
        `grew from ${start.usedMib} to ${end.usedMib} MiB`,
      );
      assert.ok(maxMib - startMaxMib < 64, `resident from ${startMaxMib} to ${maxMib} MiB`);
    });

  test(`${HOSTS} hosts of ten tenants: memory stays`, async (t) => {
    const visit = async (index: number) => {
      const tenantId = `tenant-${index % 10}` as TenantId;
      const outcome = await own.call(`http://host-${index}.test:${port}/`, {
        tenantId,
        timeoutMs: 20_000,
      });
      assert.equal(endOf(outcome), 200);
    };
    await each(HOSTS_WARM, visit);
    const start = await memory();
    await each(HOSTS - HOSTS_WARM, (index) => visit(HOSTS_WARM + index));
    const end = await memory();
    t.diagnostic(
      `${HOSTS_WARM} → ${HOSTS} hosts: used ${start.usedMib.toFixed(1)} → ${end.usedMib.toFixed(1)} MiB, resident ${start.rssMib.toFixed(0)} → ${end.rssMib.toFixed(0)} MiB`,
    );
    assert.ok(end.usedMib - start.usedMib < 16, `grew from ${start.usedMib} to ${end.usedMib} MiB`);
    assert.ok(
      end.rssMib - start.rssMib < 128,
      `resident from ${start.rssMib} to ${end.rssMib} MiB`,
    );
  });
}
