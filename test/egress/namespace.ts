/**
 * A network namespace of the test's own: every address is on its loopback interface and leads nowhere else, so public,
 * private and metadata addresses can all have a listener that counts what reaches it. Linux, root or user namespaces; `ip` of
 * iproute2.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import { APT } from "#local/apt.ts";
import { mayUnshare } from "#test/support/may-unshare.ts";

const DEADLINE_MS = 90_000;
const MARK = "EGRESS_NAMESPACE";
const TOOLS = [
  ["unshare", "util-linux"],
  ["ip", "iproute2"],
  ["openssl", "openssl"],
] as const;

/**
 * Runs `cases` when this process is inside the namespace; else registers one test that runs `file` again inside of a new one,
 * with `env` added.
 */
export function testInNamespace(
  name: string,
  file: string,
  env: () => Readonly<Record<string, string>>,
  cases: () => void,
): void {
  if (process.env[MARK] === "1") {
    cases();
    return;
  }
  test(name, (t) => {
    for (const [command, pack] of TOOLS) install(command, pack);
    const own = process.getuid?.() === 0 ? ["-n"] : ["-r", "-n"];
    if (!mayUnshare(own)) {
      t.skip(`without the right to 'unshare ${own.join(" ")}' (CONTRIBUTING.md)`);
      return;
    }
    const args = [...own, process.execPath, "--test", "--test-reporter=spec", file];
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
    const run = spawnSync("unshare", args, {
      env: { ...inherited, ...env(), [MARK]: "1" },
      encoding: "utf8",
      timeout: DEADLINE_MS,
    });
    const said = `${run.stdout}${run.stderr}`;
    assert.ifError(run.error);
    assert.equal(run.status, 0, `in the namespace (unshare ${args.join(" ")}):\n${said}`);
    assert.match(said, /^ℹ pass [1-9]/m, said);
  });
}

/** Brings the namespace's loopback interface up with these addresses (without prefix length) on it. */
export function addAddresses(addresses: readonly string[]): void {
  const ip = (...args: string[]) => execFileSync("ip", args, { stdio: ["ignore", "pipe", "pipe"] });
  ip("link", "set", "lo", "up");
  for (const address of addresses)
    ip(
      "addr",
      "add",
      ...(address.includes(":") ? [`${address}/128`, "nodad"] : [`${address}/32`]),
      "dev",
      "lo",
    );
}

/** With Debian's package manager where that is possible, else the test says what is missing. */
function install(command: string, pack: string): void {
  const isThere = () => spawnSync("which", [command]).status === 0;
  if (isThere()) return;
  assert.equal(process.getuid?.(), 0, `this test needs the command ${command}: install ${pack}`);
  const { stderr } = spawnSync(APT, ["install", pack], { encoding: "utf8", timeout: DEADLINE_MS });
  assert.ok(isThere(), `${command} is missing, and ${pack} could not be installed: ${stderr}`);
}
