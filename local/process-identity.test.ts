import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { identify, isAlive, type ProcessIdentity, signal } from "./process-identity.ts";

function spawnSleeper(): { child: ChildProcess; identity: ProcessIdentity } {
  const child = spawn("sleep", ["60"]);
  const identity = identify(child.pid ?? 0, "sleep 60");
  assert.ok(identity);
  return { child, identity };
}

describe("a recorded process", () => {
  it("is known while it runs and ends by its signal", async () => {
    const { child, identity } = spawnSleeper();
    assert.equal(isAlive(identity), true);
    assert.equal(signal(identity, "SIGTERM"), true);
    await once(child, "exit");
    assert.equal(isAlive(identity), false);
    assert.equal(signal(identity, "SIGTERM"), false);
    assert.equal(identify(identity.pid, "sleep 60"), null);
  });

  it("is not another one that has its number by now", async () => {
    const { child, identity } = spawnSleeper();
    const reused = { ...identity, startTicks: String(Number(identity.startTicks) - 1) };
    const renamed = { ...identity, commandHas: "mysqld" };
    assert.equal(isAlive(reused), false);
    assert.equal(signal(reused, "SIGKILL"), false);
    assert.equal(signal(renamed, "SIGKILL"), false);
    assert.equal(isAlive(identity), true, "nothing was sent to it");
    child.kill("SIGKILL");
    await once(child, "exit");
  });
});
