/** `mysql.sh` with a stand-in for the server: which folders it makes anew, and which it leaves alone. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { pickPort } from "../hold-directory.ts";
import { runCommand } from "../run-command.ts";

const SCRIPT = join(import.meta.dirname, "mysql.sh");
const BOTH = [SCRIPT, join(import.meta.dirname, "cassandra.sh")];
const TIMEOUT_MS = 20_000;
/** Initializes an empty folder, unless `fail` lies beside it, else serves until it is ended. */
const SERVER = `#!/usr/bin/env bash
[ "$1" != --version ] || exit 0
for a; do case $a in --datadir=*) data=\${a#*=} ;; --port=*) port=\${a#*=} ;; --initialize-insecure) new=1 ;; esac; done
if [ -n "\${new:-}" ]; then
  mkdir -p "$data"; [ -z "$(ls "$data")" ] || exit 3
  touch "$data/ibdata1"; [ ! -e "$data/../fail" ]
  exit
fi
[ -e "$data/ibdata1" ] || exit 4
echo "ready for connections. Version: '0' port: $port "
trap 'exit 0' TERM; while :; do sleep 0.05; done
`;

const room = mkdtempSync(join(tmpdir(), "native-mysql-"));
after(() => rmSync(room, { recursive: true, force: true }));
const base = join(room, "base");
mkdirSync(join(base, "bin"), { recursive: true });
writeFileSync(join(base, "bin", "mysqld"), SERVER, { mode: 0o755 });
const sha256 = /^TAR_SHA256=(\w+)$/m.exec(readFileSync(SCRIPT, "utf8"))?.[1] ?? "";
writeFileSync(join(base, ".ok"), `${sha256}\n`);

const run = (args: string[]) => runCommand(SCRIPT, args, { timeoutMs: TIMEOUT_MS });
const start = async (dir: string) => run(["start", base, dir, String(await pickPort(0))]);

test("a data folder that it has not made is left as it is", async () => {
  const dir = join(room, "project");
  mkdirSync(join(dir, "data"), { recursive: true });
  for (const name of ["ibdata1", ".hidden"]) {
    const path = join(dir, "data", name);
    writeFileSync(path, "precious");
    const { code, stderr } = await start(dir);
    assert.equal(code, 1);
    assert.match(stderr, /^mysql\.sh: .*\/project\/data has files that are not ours: /);
    assert.equal(readFileSync(path, "utf8"), "precious");
    rmSync(path);
  }
  assert.equal((await start(dir)).code, 0, "an empty folder is nobody's");
  assert.equal((await run(["stop", dir])).code, 0);
});

test("its own is made anew where it was left half-made, and kept once it is whole", async () => {
  const dir = join(room, "own");
  mkdirSync(dir);
  writeFileSync(join(dir, "fail"), "");
  for (const _ of [1, 2]) assert.match((await start(dir)).stderr, /initialize failed/);
  assert.ok(existsSync(join(dir, "data", "ibdata1")));
  rmSync(join(dir, "fail"));
  for (const _ of [1, 2]) {
    const { code, stdout, stderr } = await start(dir);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^mysql ready on 127\.0\.0\.1:\d+ pid \d+\n$/);
    writeFileSync(join(dir, "data", "kept"), "");
    assert.equal((await run(["stop", dir])).stdout, "stopped\n");
  }
  assert.ok(existsSync(join(dir, "data", "kept")));
});

test("what is in the place of the server's software and not ours is left as it is", async () => {
  const other = join(room, "mysql-8.0.31");
  mkdirSync(other);
  writeFileSync(join(other, "precious"), "");
  for (const script of BOTH) {
    const { code, stderr } = await runCommand(script, ["fetch", other], { timeoutMs: TIMEOUT_MS });
    assert.equal(code, 1);
    assert.match(stderr, /mysql-8\.0\.31 is not ours: choose another LOCAL_CACHE/);
    assert.ok(existsSync(join(other, "precious")));
  }
});

test("a cache that cannot be made or written is said, with what to change", async () => {
  // Not even root may write there.
  for (const [cache, what] of [
    ["/proc/at-and-cron", "made"],
    ["/proc/sys", "written"],
  ])
    for (const script of BOTH) {
      const args = ["fetch", `${cache}/server`];
      const { code, stderr } = await runCommand(script, args, { timeoutMs: TIMEOUT_MS });
      assert.equal(code, 1);
      const said = `${basename(script)}: ${cache} cannot be ${what}: choose another LOCAL_CACHE\n`;
      assert.equal(stderr, said);
    }
});

test("what is there already is used out of a cache that nobody may write", async () => {
  chmodSync(room, 0o555);
  try {
    // Root would be let through.
    const rights = ["--bounding-set=-dac_override", "--inh-caps=-dac_override"];
    const less = process.getuid?.() === 0 ? ["setpriv", ...rights] : [];
    const [file = "", ...args] = [...less, SCRIPT, "fetch", base];
    const { code, stderr } = await runCommand(file, args, { timeoutMs: TIMEOUT_MS });
    assert.equal(code, 0, stderr);
  } finally {
    chmodSync(room, 0o755);
  }
});
