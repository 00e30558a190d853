import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { isPortFree, pickPort } from "#local/hold-directory.ts";
import { identify, isAlive, type ProcessIdentity } from "#local/process-identity.ts";

// The whole system as a user starts it: its own MySQL, its own ports, the processes that production runs.

const REPOSITORY = resolve(import.meta.dirname, "../..");
const COMMAND_MS = 120_000;
const DEADLINE_MS = 60_000;
/** Half a minute on a machine that does nothing else, databases and all. */
const FIRST_CALL_MS = 120_000;

type Status = {
  api: string;
  key: string;
  mysql: string;
  cassandra: string;
  history: string;
  processes: { name: string; pid: number; health: string | null; metrics: string | null }[];
};
type Ended = { code: number; stdout: string; stderr: string };

describe("the stack on one machine", () => {
  let localDir: string;
  let env: NodeJS.ProcessEnv;
  let ports: number[];

  before(async () => {
    localDir = mkdtempSync(join(tmpdir(), "local-stack-"));
    ports = [await pickPort(0), await pickPort(0), await pickPort(0)];
    // The tests' databases are others: this one is to start its own.
    const { MYSQL_URL: _, CASSANDRA_CONTACT_POINTS: __, ...inherited } = process.env;
    const [API_PORT, MYSQL_PORT, CASSANDRA_PORT] = ports.map(String);
    const own = { LOCAL_DIR: localDir, API_PORT, MYSQL_PORT, CASSANDRA_PORT, MYSQL_POOL: "64M" };
    env = { ...inherited, ...own };
    // A run that is cut short must not leave a stack behind: it lives in process groups of its own.
    process.once("SIGTERM", () => {
      const stopped = { cwd: REPOSITORY, env, detached: true, stdio: "ignore" } as const;
      spawn(process.execPath, ["local/stop.ts"], stopped).unref();
      process.exit(1);
    });
  });
  after(async () => {
    await run("stop");
    rmSync(localDir, { recursive: true, force: true });
  });

  /** One of our npm commands, to its end. */
  function run(script: string, args: string[] = [], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return new Promise((ended) => {
      const options = { cwd: REPOSITORY, env: { ...env, ...more }, timeout: COMMAND_MS };
      const all = ["run", "--silent", script, "--", ...args];
      const child = execFile("npm", all, options, (_, stdout, stderr) =>
        ended({ code: child.exitCode ?? -1, stdout, stderr }),
      );
    });
  }

  async function readStatus(): Promise<Status> {
    const { stdout } = await run("status", ["--json"]);
    return JSON.parse(stdout) as Status;
  }

  function identifyAll(status: Status): ProcessIdentity[] {
    return status.processes.map(({ name, pid }) => {
      const identity = identify(pid, "");
      assert.ok(identity, `${name} runs`);
      return identity;
    });
  }

  async function assertNothingLeft(processes: ProcessIdentity[]): Promise<void> {
    assert.deepEqual(processes.filter(isAlive), []);
    for (const port of ports) assert.ok(await isPortFree(port), `port ${port} is free again`);
    assert.equal((await readStatus()).api, null);
  }

  async function ask(path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`http://127.0.0.1:${env.API_PORT}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "x-api-key": "local-dev-key", "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return { status: response.status, body: await response.json() };
  }

  it("shows the sample's first call, and Ctrl-C leaves no process", async () => {
    const startedAt = performance.now();
    // A terminal's Ctrl-C goes to npm and all that is in its process group.
    const options = { cwd: REPOSITORY, env, detached: true, stdio: "pipe" } as const;
    const child = spawn("npm", ["start"], options);
    const exit = once(child, "exit");
    let output = "";
    const called = new Promise<void>((seen, failed) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (/sample called, \d+ ms after its time/.test(output)) seen();
      });
      exit.then(() => failed(new Error(`ended before any call: ${output}`)), failed);
    });
    await called;
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < FIRST_CALL_MS, `the first call after ${tookMs} ms`);
    assert.match(output, /API +http:\/\/127\.0\.0\.1:\d+\/v1 +x-api-key: local-dev-key/);
    const processes = identifyAll(await readStatus());
    assert.ok(child.pid);
    process.kill(-child.pid, "SIGINT");
    await exit;
    await assertNothingLeft(processes);
  });

  it("stays up detached, calls what the API is told to call, survives its MySQL, and stops", async () => {
    const started = await run("start", ["--detach"]);
    assert.equal(started.code, 0, started.stdout + started.stderr);
    const status = await readStatus();
    assert.equal(status.api, `http://127.0.0.1:${env.API_PORT}`);
    assert.equal(status.key, "local-dev-key");
    assert.equal(status.mysql, `mysql://root@127.0.0.1:${env.MYSQL_PORT}`);
    assert.equal(status.cassandra, `127.0.0.1:${env.CASSANDRA_PORT}`);
    const names = status.processes.map(({ name }) => name);
    const workers = ["gateway", "scheduler", "executor", "reconciler", "archiver"];
    assert.deepEqual(names, ["supervisor", ...workers, "echo", "mysql", "cassandra"]);

    const again = await run("start", ["--detach"]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^already running in .*\n$/);

    await assertCallArrives();
    assertWell(await readStatus());
    await assertMysqlComesBack(status);
    await assertCallArrives();

    const processes = identifyAll(await readStatus());
    const stopped = await run("stop");
    assert.deepEqual([stopped.code, stopped.stderr], [0, ""]);
    await assertNothingLeft(processes);
  });

  function assertWell({ history, processes }: Status): void {
    assert.equal(history, "ok");
    const told = processes.filter(({ metrics }) => metrics !== null);
    assert.deepEqual(
      told.map(({ name, health }) => [name, health]),
      ["scheduler", "executor", "reconciler", "archiver"].map((name) => [name, "ok"]),
    );
  }

  /** Makes a task that is due now and waits for its call. */
  async function assertCallArrives(): Promise<void> {
    const calls: IncomingHttpHeaders[] = [];
    const endpoint = createServer((request, response) => {
      calls.push(request.headers);
      request.resume();
      response.end("ok", () => endpoint.emit("called"));
    });
    endpoint.listen(0, "127.0.0.1");
    await once(endpoint, "listening");
    const address = endpoint.address();
    assert.ok(address && typeof address === "object");
    const at = new Date(Date.now() + 1_000).toISOString();
    const called = once(endpoint, "called", { signal: AbortSignal.timeout(DEADLINE_MS) });
    const made = await ask("/v1/tasks", {
      name: `once at ${at}`,
      schedule: { type: "at", at },
      request: { url: `http://127.0.0.1:${address.port}/hook` },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await called;
    endpoint.close();
    endpoint.closeAllConnections();
    assert.equal(calls.length, 1);
    assert.equal(calls[0]?.["x-scheduled-at"], at);
    assert.equal(calls[0]?.["x-attempt"], "1");
    assert.match(String(calls[0]?.["idempotency-key"]), /^job_/);
  }

  async function assertMysqlComesBack(status: Status): Promise<void> {
    const mysql = status.processes.find(({ name }) => name === "mysql");
    assert.ok(mysql);
    process.kill(mysql.pid, "SIGKILL");
    const endsAt = performance.now() + DEADLINE_MS;
    for (;;) {
      const { status: code } = await ask("/v1/tasks");
      if (code === 200 && (await readStatus()).processes.some(isNewMysql)) return;
      assert.ok(code === 200 || code === 503, `answers ${code} while MySQL is away`);
      assert.ok(performance.now() < endsAt, "MySQL is back in time");
    }
    function isNewMysql({ name, pid }: { name: string; pid: number }): boolean {
      return name === "mysql" && pid !== mysql?.pid;
    }
  }

  it("says in one line what keeps it from starting", async (t) => {
    const holder = createServer().listen(Number(env.API_PORT), "127.0.0.1");
    t.after(() => holder.close());
    await once(holder, "listening");
    for (const args of [[], ["--detach"]]) {
      const taken = await run("start", args);
      assert.equal(taken.code, 1);
      assert.match(taken.stderr, /^port \d+ is taken: .* choose another with API_PORT\n$/);
    }
    const malformed = await run("start", [], { EXECUTORS: "many" });
    assert.deepEqual(
      [malformed.code, malformed.stderr],
      [1, "EXECUTORS has to be a whole number from 1 to 16, not 'many'\n"],
    );
    const unknown = await run("start", ["--detached"]);
    assert.match(unknown.stderr, /^unknown argument --detached: .*\n$/);
    const log = readFileSync(join(localDir, "log", "supervisor.err"), "utf8");
    assert.match(log, /is taken/, "the detached one's words are kept too");
  });
});
