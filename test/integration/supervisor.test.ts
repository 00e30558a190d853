import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { pickPort } from "#local/hold-directory.ts";
import { startMysql } from "#local/mysql-server.ts";
import { isAlive } from "#local/process-identity.ts";
import { type Run, readRun } from "#local/run-file.ts";
import { testMysqlUrl } from "#test/support/mysql.ts";

// The supervisor as it is, over a MySQL that it is given, with small stand-ins for gateway, scheduler and executor: what is tested is
// who is started, started again, stopped and left alone.

const ROOM = resolve(import.meta.dirname, "../../local");
const DEADLINE_MS = 30_000;

/** Answers as the gateway does, and does the workers' work: calls what it is told to call, five times a second. */
const GATEWAY = `
import { createServer } from "node:http";
let timer;
const server = createServer((request, response) => {
  if (request.url === "/v1/health") return response.end("{}");
  let text = "";
  request.on("data", (part) => { text += part; });
  request.on("end", () => {
    const task = JSON.parse(text);
    timer ??= setInterval(() => {
      const headers = { "x-scheduled-at": new Date().toISOString(), "x-attempt": "1" };
      fetch(task.request.url, { method: "POST", headers }).catch(() => {});
    }, 200);
    response.writeHead(201, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "task_1", name: task.name, status: "active", request: task.request }));
  });
});
server.listen(Number(process.env.API_PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));
`;
/** Answers as the gateway does to a tenant that is disabled. */
const REFUSING = `
import { createServer } from "node:http";
createServer((request, response) => {
  if (request.url !== "/v1/health") response.statusCode = 403;
  response.end(JSON.stringify({ detail: "the tenant is disabled" }));
}).listen(Number(process.env.API_PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));
`;
const WORKER = `setInterval(() => {}, 1000); process.once("SIGTERM", () => process.exit(0));`;
/** Ignores SIGTERM: has to be killed. */
const DEAF = `setInterval(() => {}, 1000); process.on("SIGTERM", () => {});`;
const BROKEN = `throw new Error("MYSQL_URL is missing");`;

/** A start.ts whose children are the stand-ins, `instead` of one of them another. */
function standIn(scripts: string, instead: Instead): string {
  const import_ = (name: string) => JSON.stringify(join(ROOM, name));
  return `
import { supervise } from ${import_("supervisor.ts")};
import { holdDirectory } from ${import_("hold-directory.ts")};
import { readSettings } from ${import_("settings.ts")};
import { SetupError } from ${import_("setup-error.ts")};
import { apiUrlOf, planStack } from ${import_("stack.ts")};
import { listenForStop, runMain, say } from ${import_("terminal.ts")};
const scripts = ${JSON.stringify({ gateway: "gateway", scheduler: "worker", executor: "worker", reconciler: "worker", archiver: "worker", ...instead })};
await runMain(async () => {
  const settings = readSettings(process.env);
  if (!(await holdDirectory(settings.localDir))) throw new SetupError("already running");
  await supervise({
    settings, apiUrl: apiUrlOf(settings), env: process.env, say, quiet: false, ...listenForStop(), prepare: async () => {},
    plan: (...args) => {
      const stack = planStack(...args);
      for (const child of stack.children) {
        const script = scripts[child.name.replace(/-\\d+$/, "")];
        if (script) child.script = ${JSON.stringify(`${scripts}/`)} + script + ".mjs";
        child.stopMs = Math.min(child.stopMs, 2_000);
      }
      return stack;
    },
  });
});
process.exit();
`;
}

type Instead = { gateway?: string; executor?: string };
type Started = {
  child: ChildProcess;
  exit: Promise<number | null>;
  output: () => string;
  env: NodeJS.ProcessEnv;
  dir: string;
};

describe("the supervisor", () => {
  let scripts: string;
  const MYSQL_URL = testMysqlUrl();
  let cassandra: Server;
  let contactPoints: string;
  const started: Started[] = [];

  before(async () => {
    scripts = mkdtempSync(join(tmpdir(), "stand-ins-"));
    for (const [name, text] of Object.entries({ GATEWAY, REFUSING, WORKER, DEAF, BROKEN })) {
      writeFileSync(join(scripts, `${name.toLowerCase()}.mjs`), text);
    }
    // Says that it speaks CQL, which is all that a supervisor asks of a Cassandra it was given.
    cassandra = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => socket.end(Buffer.from([0x84, 0, 0, 0, 6, 0, 0, 0, 0])));
    });
    cassandra.listen(0, "127.0.0.1");
    await once(cassandra, "listening");
    contactPoints = `127.0.0.1:${(cassandra.address() as AddressInfo).port}`;
  });
  after(async () => {
    // What a failed test has left.
    for (const { dir, child } of started) {
      const run = readRun(dir);
      for (const each of run?.processes ?? []) if (isAlive(each)) process.kill(each.pid, "SIGKILL");
      child.kill("SIGKILL");
    }
    cassandra.close();
    rmSync(scripts, { recursive: true, force: true });
  });

  async function start(instead: Instead = {}, more: NodeJS.ProcessEnv = {}): Promise<Started> {
    const dir = join(scripts, `run-${started.length}`);
    mkdirSync(dir);
    const API_PORT = String(await pickPort(0));
    const databases = { MYSQL_URL, CASSANDRA_CONTACT_POINTS: contactPoints };
    const env = { ...process.env, LOCAL_DIR: dir, ...databases, API_PORT, ...more };
    const result = launch(dir, env, instead);
    started.push(result);
    return result;
  }

  function launch(dir: string, env: NodeJS.ProcessEnv, instead: Instead): Started {
    const script = join(dir, "start.mjs");
    writeFileSync(script, standIn(scripts, instead));
    const child = spawn(process.execPath, [script], { env, stdio: ["ignore", "pipe", "pipe"] });
    const exit = once(child, "exit").then(([code]) => code as number | null);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    return { child, exit, output: () => output, env, dir };
  }

  async function untilRun(dir: string, what: (run: Run) => boolean): Promise<Run> {
    const endsAt = performance.now() + DEADLINE_MS;
    for (;;) {
      const run = readRun(dir);
      if (run && what(run)) return run;
      assert.ok(performance.now() < endsAt, `still not: ${what}; ${JSON.stringify(run)}`);
      await new Promise((wake) => setTimeout(wake, 20));
    }
  }

  it("shows calls arriving, is one per directory, and its Ctrl-C leaves nothing but what it was given", async () => {
    const { child, exit, output, dir, env } = await start({}, { EXECUTORS: "2" });
    const run = await untilRun(dir, (each) => each.state === "ready");
    assert.match(output(), /sample called, \d+ ms after its time/);
    assert.deepEqual(
      run.processes.map((each) => each.name),
      ["gateway", "scheduler", "executor-1", "executor-2", "reconciler", "archiver", "echo"],
    );

    const status = JSON.parse(await command("status.ts", env, "--json"));
    assert.equal(status.api, `http://127.0.0.1:${env.API_PORT}`);
    assert.deepEqual(
      [status.key, status.mysql, status.cassandra],
      ["local-dev-key", MYSQL_URL, contactPoints],
    );
    assert.equal(status.processes.length, 8);
    assert.equal(status.history, "ok");
    const ports = run.processes.flatMap(({ metricsPort }) => metricsPort ?? []);
    assert.equal(new Set(ports).size, 5, "each worker has a port of its own for its metrics");
    const executor = status.processes.find(({ name }: { name: string }) => name === "executor-2");
    // The stand-ins serve nothing.
    assert.partialDeepStrictEqual(executor, { health: "does not answer" });
    assert.match(executor.metrics, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/);

    const second = launch(dir, env, {});
    assert.equal(await second.exit, 1);
    assert.equal(second.output(), "already running\n");

    child.kill("SIGINT");
    assert.equal(await exit, 0);
    assert.deepEqual(run.processes.filter(isAlive), []);
    assert.equal(readRun(dir), null);
    await startMysql({ dir: "unused", env: { MYSQL_URL } });
  });

  it("starts a child again that was killed", async () => {
    const { child, exit, output, dir } = await start();
    const run = await untilRun(dir, (each) => each.state === "ready");
    const killed = run.processes.find((each) => each.name === "executor");
    assert.ok(killed);
    process.kill(killed.pid, "SIGKILL");
    await untilRun(dir, (each) =>
      each.processes.some(({ name, pid }) => name === "executor" && pid !== killed.pid),
    );
    assert.match(output(), /executor ended \(SIGKILL\): starting it again in 0\.5 s/);
    child.kill("SIGTERM");
    assert.equal(await exit, 0);
  });

  it("that was killed itself leaves children that npm stop finds, also a deaf one", async () => {
    const { child, exit, dir, env } = await start({ executor: "deaf" });
    const run = await untilRun(dir, (each) => each.state === "ready");
    child.kill("SIGKILL");
    await exit;
    assert.equal(run.processes.filter(isAlive).length, 6, "they are left");
    const said = await command("stop.ts", env);
    assert.match(said, /the supervisor was killed: stopping what it left/);
    assert.match(said, /executor did not end in 2 s: killing it/);
    assert.deepEqual(run.processes.filter(isAlive), []);
    assert.equal(await command("stop.ts", env), `nothing is running in ${dir}\n`);
  });

  it("is found by npm stop without its run.json, or with one that is damaged", async () => {
    for (const damage of [null, "{"]) {
      const { child, exit, dir, env } = await start();
      const run = await untilRun(dir, (each) => each.state === "ready");
      const file = join(dir, "run.json");
      rmSync(file);
      if (damage !== null) writeFileSync(file, damage);
      const said = await command("status.ts", env);
      assert.match(said, /: 'npm stop' ends it|is damaged: 'npm stop' ends its supervisor/);
      if (damage === null) assert.ok(said.startsWith(`supervisor ${child.pid} runs`), said);
      assert.equal(await command("stop.ts", env), "stopped\n");
      assert.equal(await exit, 0);
      assert.deepEqual(run.processes.filter(isAlive), []);
      assert.equal(readRun(dir), null);
    }
  });

  it("starts over what a killed one has left", async () => {
    const first = await start();
    const run = await untilRun(first.dir, (each) => each.state === "ready");
    first.child.kill("SIGKILL");
    await first.exit;
    const second = launch(first.dir, first.env, {});
    await untilRun(
      first.dir,
      (each) => each.state === "ready" && each.supervisor.pid === second.child.pid,
    );
    assert.deepEqual(run.processes.filter(isAlive), []);
    await command("stop.ts", first.env);
    await second.exit;
  });

  it("gives up when a child cannot start, says why and leaves nothing", async () => {
    const { exit, output, dir } = await start({ gateway: "broken" });
    assert.equal(await exit, 1);
    assert.match(output(), /gateway did not come up; it said: Error: MYSQL_URL is missing/);
    assert.equal(readRun(dir), null);
  });

  it("comes up without the sample task where the API refuses it, and says why", async () => {
    const { child, exit, output, dir } = await start({ gateway: "refusing" });
    await untilRun(dir, (each) => each.state === "ready");
    assert.match(
      output(),
      /no sample task: PUT \S+ answered 403, the tenant is disabled; all else/,
    );
    child.kill("SIGINT");
    assert.equal(await exit, 0);
  });

  it("goes on and ends on a full disk: run.json and logs are made good when there is room", async () => {
    const { child, exit, output, dir } = await start();
    const run = await untilRun(dir, (each) => each.state === "ready");
    const full = join(dir, "run.json.new");
    symlinkSync("/dev/full", full);
    rmSync(join(dir, "log"), { recursive: true });
    writeFileSync(join(dir, "log"), "no log can be made");
    const killed = run.processes.find((each) => each.name === "executor");
    assert.ok(killed);
    process.kill(killed.pid, "SIGKILL");
    const signal = AbortSignal.timeout(DEADLINE_MS);
    while (!/executor ended/.test(output()))
      await once(child.stdout as Readable, "data", { signal });
    assert.equal(output().split("run.json cannot be written (ENOSPC)").length, 2);
    unlinkSync(full);
    const later = await untilRun(dir, (each) =>
      each.processes.some(({ name, pid }) => name === "executor" && pid !== killed.pid),
    );

    symlinkSync("/dev/full", full);
    child.kill("SIGINT");
    assert.equal(await exit, 0, output());
    assert.deepEqual(later.processes.filter(isAlive), []);
    assert.equal(readRun(dir), null);
  });

  it("refuses a taken API port in one line, before it starts anything", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    assert.ok(address && typeof address === "object");
    const { exit, output } = await start({}, { API_PORT: String(address.port) });
    assert.equal(await exit, 1);
    assert.equal(
      output(),
      `port ${address.port} is taken: stop what listens there, or choose another with API_PORT\n`,
    );
    holder.close();
  });
});

/** What one of our commands prints. */
function command(script: string, env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  return new Promise((resolve) => {
    const options = { env, timeout: DEADLINE_MS };
    execFile(process.execPath, [join(ROOM, script), ...args], options, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
