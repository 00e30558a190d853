import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";
import type { Run } from "./run-file.ts";
import { stopRun } from "./stop-run.ts";

const room = mkdtempSync(join(tmpdir(), "stop-run-"));
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(room, { recursive: true, force: true });
});

/** What MySQL and Cassandra are here: processes that end by SIGTERM. */
function spawnServer(): ProcessIdentity {
  const child = spawn("sleep", ["60"]);
  children.push(child);
  const identity = identify(child.pid ?? 0, "sleep 60");
  assert.ok(identity);
  return identity;
}

function runOf(dir: string, servers: readonly (ProcessIdentity | null)[]): Run {
  const [mysql = null, cassandra = null] = servers;
  return {
    state: "stopping",
    supervisor: { pid: process.pid, startTicks: "0", commandHas: "" },
    api: "",
    key: "",
    mysql: { url: "", kind: "native", dir, process: mysql },
    cassandra: { contactPoints: "", kind: "native", dir, process: cassandra },
    restarting: [],
    processes: [],
  };
}

const opts = { say: () => {}, env: process.env };

test("databases end although their folder is gone, or cannot be worked in", async () => {
  const broken = join(room, "broken");
  mkdirSync(join(broken, ".lock"), { recursive: true });
  for (const dir of [join(room, "gone"), broken]) {
    const servers = [spawnServer(), spawnServer()];
    await stopRun(runOf(dir, servers), opts);
    assert.deepEqual(servers.filter(isAlive), [], dir);
  }
  await assert.rejects(stopRun(runOf(broken, []), opts), /(MySQL|Cassandra) in .* did not stop/);
});
