import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventually } from "#test/support/eventually.ts";
import { identify } from "./process-identity.ts";
import { runCommand } from "./run-command.ts";

describe("runCommand", () => {
  it("gives code, output and each line of stderr", async () => {
    const lines: string[] = [];
    const result = await runCommand("sh", ["-c", "echo out; echo one >&2; echo two >&2; exit 3"], {
      timeoutMs: 10_000,
      onLine: (line) => lines.push(line),
    });
    assert.deepEqual(result, { code: 3, stdout: "out\n", stderr: "one\ntwo\n" });
    assert.deepEqual(lines, ["one", "two"]);
  });

  it("says when there is no such command", async () => {
    const result = await runCommand("/nowhere/docker", [], { timeoutMs: 10_000 });
    assert.equal(result.code, null);
    assert.match(result.stderr, /ENOENT/);
  });

  for (const how of ["deadline", "signal"]) {
    it(`ends a command with all that it has started: ${how}`, async () => {
      const stop = new AbortController();
      const pids: number[] = [];
      const result = await runCommand("sh", ["-c", "sleep 60 & echo $! >&2; wait"], {
        timeoutMs: how === "deadline" ? 500 : 60_000,
        signal: stop.signal,
        onLine: (line) => {
          pids.push(Number(line));
          if (how === "signal") stop.abort();
        },
      });
      assert.equal(result.code, null);
      assert.equal(pids.length, 1);
      // Killed with the rest; the kernel takes it away a moment later.
      await eventually(async () => assert.equal(identify(pids[0] ?? 0, "sleep"), null));
    });
  }

  it("starts nothing when it was given up before", async () => {
    const result = await runCommand("sh", ["-c", "echo ran"], {
      timeoutMs: 10_000,
      signal: AbortSignal.abort(),
    });
    assert.deepEqual(result, { code: null, stdout: "", stderr: "" });
  });
});
