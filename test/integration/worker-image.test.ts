/**
 * workers/Dockerfile, followed without Docker: what it copies and installs, in an empty folder; its user, to whom nothing there
 * belongs; Node as process 1 of a PID namespace, where there is the right to one: there a signal that nobody handles is ignored.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { makeKeyFile } from "#adapters/crypto/key-file.ts";
import { mayUnshare } from "#test/support/may-unshare.ts";
import { makeTestDatabases, type TestDatabases } from "#test/support/mysql.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const INSTALL_MS = 120_000;
const STARTED_MS = 30_000;
const STOPPED_MS = 20_000;
const dockerfile = readFileSync(join(ROOT, "workers/Dockerfile"), "utf8");
const instructions = [...dockerfile.matchAll(/^([A-Z]+) (.*)$/gm)].map(
  ([, instruction = "", value = ""]) => [instruction, value] as const,
);
const lastOf = (instruction: string) =>
  instructions.findLast(([name]) => name === instruction)?.[1] ?? "";

const image = mkdtempSync(join(tmpdir(), "image-"));
const app = join(image, "app");
const node = join(image, "node");
const keyFile = join(image, "master.key");
const [uid = 0, gid = 0] = lastOf("USER").split(":").map(Number);
const isRoot = process.getuid?.() === 0;
const isFirst = isRoot && mayUnshare(["--pid", "--fork"]);
let databases: TestDatabases;

before(async () => {
  databases = await makeTestDatabases();
  chmodSync(image, 0o755);
  mkdirSync(app);
  for (const [instruction, value] of instructions) follow(instruction, value);
  // Where the Node that runs this is may be closed to others.
  copyFileSync(process.execPath, node);
  makeKeyFile(keyFile);
  if (isRoot) execFileSync("chown", [`${uid}:${gid}`, keyFile]);
});
after(async () => {
  rmSync(image, { recursive: true, force: true });
  await databases.drop();
});

/** Both stages in one folder: what the second takes from the first is there already. */
function follow(instruction: string, value: string): void {
  if (instruction === "COPY" && !value.startsWith("--from")) {
    const [, mode, files = ""] = /^(?:--chmod=(\d+) )?(.*)$/.exec(value) ?? [];
    const words = files.split(" ");
    const target = words.pop() ?? "";
    for (const source of words) {
      const copy = join(app, target === "./" ? source : target);
      cpSync(join(ROOT, source), copy, {
        recursive: true,
        // As infra/constructs/worker-image.ts leaves out.
        filter: (path) => !path.endsWith(".test.ts") && path !== join(ROOT, "adapters/memory"),
      });
      if (mode !== undefined) execFileSync("chmod", ["-R", mode, copy]);
    }
  }
  if (instruction === "RUN")
    execFileSync("sh", ["-c", value], {
      cwd: app,
      timeout: INSTALL_MS,
      stdio: "pipe",
      env: { PATH: process.env.PATH, HOME: process.env.HOME, npm_config_prefer_offline: "true" },
    });
}

test("starts from the version of Node that is pinned, by digest, and is nobody's but root's", () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const bases = instructions.filter(([name]) => name === "FROM").map(([, value]) => value);
  assert.equal(bases.length, 2);
  for (const base of bases)
    assert.match(base, new RegExp(`\\bnode:${dependencies.node}-\\w+-slim@sha256:[0-9a-f]{64}\\b`));
  assert.ok(uid > 0 && gid > 0, "not root");
  assert.equal(lastOf("ENTRYPOINT"), "[]");
});

test("has what runs, and nothing of development", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const { packages } = JSON.parse(
    readFileSync(join(app, "node_modules/.package-lock.json"), "utf8"),
  ) as { packages: Record<string, unknown> };
  const paths = Object.keys(packages);
  assert.ok(paths.includes("node_modules/mysql2"));
  assert.deepEqual(
    paths.filter((path) => lock.packages[path]?.dev),
    [],
  );
  for (const room of ["infra", "test", "local", "functions"])
    assert.ok(!existsSync(join(app, room)));
  // For a processor other than the one that installs: nothing compiled.
  const compiled = readdirSync(join(app, "node_modules"), { recursive: true })
    .map(String)
    .filter((path) => path.endsWith(".node"));
  assert.deepEqual(compiled, []);
});

for (const worker of ["scheduler", "executor"])
  test(`the ${worker} runs as its user, writes nothing, and leaves with 0 on SIGTERM`, async () => {
    const [program, ...args] = JSON.parse(lastOf("CMD").replace("executor", worker));
    assert.equal(program, "node");
    const command = [node, ...args];
    const asUser = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
    const inOwn = isFirst ? ["unshare", "--pid", "--fork", "--kill-child=KILL"] : [];
    const [file = "", ...rest] = isRoot ? [...inOwn, ...asUser, ...command] : command;
    const child = spawn(file, rest, {
      cwd: app,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env.PATH,
        NODE_ENV: "production",
        MYSQL_URL: databases.mysqlUrl,
        DATABASE_PREFIX: databases.databasePrefix,
        ...(worker === "executor" ? { SECRETS_KEY_FILE: keyFile } : {}),
      },
    });
    const lines: string[] = [];
    const started = Promise.withResolvers<void>();
    const timer = setTimeout(() => child.kill("SIGKILL"), STARTED_MS + STOPPED_MS);
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        if (line.includes('"started"')) started.resolve();
      });
    child.once("exit", () => started.reject(new Error(`ended early:\n${lines.join("\n")}`)));
    await started.promise;
    const pid = isFirst ? onlyChildOf(child.pid ?? 0) : (child.pid ?? 0);
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    if (isFirst) assert.match(status, /^NSpid:\t\d+\t1$/m, "process 1");
    if (isRoot) assert.match(status, new RegExp(`^Uid:\\t${uid}\\t${uid}\\t`, "m"));
    const ended = once(child, "exit");
    process.kill(pid, "SIGTERM");
    const [code] = await ended;
    clearTimeout(timer);
    assert.equal(code, 0, lines.join("\n"));
  });

test("its user can write nowhere in it", {
  skip: !isRoot && "needs root to become another",
}, () => {
  const write = `require("node:fs").writeFileSync("mine", "")`;
  const asUser = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", node];
  assert.throws(
    () =>
      execFileSync(asUser[0] ?? "", [...asUser.slice(1), "-e", write], { cwd: app, stdio: "pipe" }),
    /EACCES/,
  );
  writeFileSync(join(app, "mine"), "");
});

function onlyChildOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim());
}
