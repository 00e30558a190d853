/** `apt.sh` with a stand-in for apt-get that, as the real one, gives up at once where somebody else is at it. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { APT } from "../apt.ts";
import { runCommand } from "../run-command.ts";

const TIMEOUT_MS = 20_000;
/** `lists` are the packages that it knows; `server` those that an update makes known. `lock` is there while somebody is at it. */
const APT_GET = `#!/usr/bin/env bash
cd "$(dirname "$0")"
echo "$*" >>asked
mkdir lock 2>/dev/null || { echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"; exit 100; }
trap 'rmdir lock' EXIT
sleep 0.2
if [ "$2" = update ]; then cp server lists; exit; fi
grep -qxF "\${!#}" lists || { echo "E: Unable to locate package \${!#}"; exit 100; }
`;
const APT_CACHE = `#!/usr/bin/env bash
echo "$2:"; echo "  Installed: (none)"
grep -qxF "$2" "$(dirname "$0")/lists" && echo "  Candidate: 1.0-1" || echo "  Candidate: (none)"
`;

let room: string;
beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), "native-apt-"));
  writeFileSync(join(room, "apt-get"), APT_GET, { mode: 0o755 });
  writeFileSync(join(room, "apt-cache"), APT_CACHE, { mode: 0o755 });
  writeFileSync(join(room, "lists"), "");
  writeFileSync(join(room, "server"), "java\nmaven\nlibaio1\n");
});
afterEach(() => rmSync(room, { recursive: true, force: true }));

const apt = (args: string[], onLine?: (line: string) => void) =>
  runCommand(APT, args, {
    timeoutMs: TIMEOUT_MS,
    env: { ...process.env, PATH: `${room}:${process.env.PATH}` },
    onLine,
  });
const asked = () => readFileSync(join(room, "asked"), "utf8").trimEnd().split("\n");
const INSTALL = "-qq install -y --no-install-recommends";

test("two at once come one after the other, and the lists are brought up to date where that is needed", async () => {
  const both = await Promise.all([apt(["install", "java"]), apt(["install", "maven"])]);
  for (const { code, stderr } of both) assert.equal(code, 0, stderr);
  assert.deepEqual(
    asked().map((line) => line.replace(/java|maven/, "it")),
    [`${INSTALL} it`, "-qq update", `${INSTALL} it`, `${INSTALL} it`],
  );
});

test("somebody else's is waited for", async () => {
  mkdirSync(join(room, "lock"));
  const { code, stderr } = await apt(["install", "java"], (line) => {
    if (line.startsWith("waiting for another program")) rmdirSync(join(room, "lock"));
  });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^waiting .* held by process 7 \(apt-get\)\napt-get update\n$/);
});

test("what it cannot get is said", async () => {
  const { code, stderr } = await apt(["install", "nothing"]);
  assert.equal(code, 1);
  assert.equal(stderr, "apt-get update\napt-get: Unable to locate package nothing\n");
});

test("of two names the one is taken that this system has", async () => {
  assert.equal((await apt(["download", "libaio1t64|libaio1"])).code, 0);
  assert.equal(asked().at(-1), "-qq download libaio1");
  writeFileSync(join(room, "lists"), "libaio1t64\n");
  assert.equal((await apt(["download", "libaio1t64|libaio1"])).code, 0);
  assert.equal(asked().at(-1), "-qq download libaio1t64");
});
