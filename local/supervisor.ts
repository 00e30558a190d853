import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { bringUpDatabases, type Databases, wait, watchDatabases } from "./databases.ts";
import { isPortFree, makeDirectory, pickPort } from "./hold-directory.ts";
import { type ChildSpec, type KeptChild, keepChild, lastWords } from "./keep-child.ts";
import { identify, type ProcessIdentity } from "./process-identity.ts";
import { isRunning, type Run, readRun, removeRun, writeRun } from "./run-file.ts";
import { makeSample } from "./sample.ts";
import { LOCAL_KEY, type Settings } from "./settings.ts";
import { SetupError } from "./setup-error.ts";
import type { planStack, Stack } from "./stack.ts";
import { stopRun } from "./stop-run.ts";
import { describeCall, watchCalls } from "./watch-calls.ts";

// One process that owns all others: brings them up in order, starts again what dies, and takes down what it brought up.
// Everything it starts is in run.json before it can be left behind (run-file.ts), in a process group of its own: a Ctrl-C
// reaches the supervisor alone, which then stops the workers before the endpoint and the databases they still need.

const POLL_MS = 100;
const WRITE_RETRY_MS = 5_000;
const HEALTH_ANSWER_MS = 2_000;
/** A process that ended this often before the first call will not come up. */
const ENDS_AT_START_MAX = 3;
const FIRST_CALL_WORD_MS = 20_000;

export type SupervisorDeps = {
  settings: Settings;
  /** Where the API will answer: what is before `/v1`. */
  apiUrl: string;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  /** Aborted by the first Ctrl-C or SIGTERM: stop everything. */
  stop: AbortSignal;
  /** Aborted by a later one: without waiting for calls in flight. */
  hurry: AbortSignal;
  /** Shows the first call of the sample only. */
  quiet: boolean;
  /** Migrates the databases and seeds them. */
  prepare: (databases: Databases, say: (line: string) => void) => Promise<void>;
  plan: (...args: Parameters<typeof planStack>) => Stack;
};

/** Runs the stack until `stop`; then, or when it cannot come up, stops what it started. Throws SetupError for the latter. */
export async function supervise(deps: SupervisorDeps): Promise<void> {
  const { settings, say } = deps;
  await clearLeftOvers(deps);
  const port = Number(new URL(deps.apiUrl).port);
  if (!(await isPortFree(port))) {
    const setting = port === settings.apiPort ? "API_PORT" : "LOCALSTACK_PORT";
    throw new SetupError(
      `port ${port} is taken: stop what listens there, or choose another with ${setting}`,
    );
  }
  const logDir = join(settings.localDir, "log");
  makeDirectory(logDir);
  const own = identify(process.pid, basename(process.argv[1] ?? ""));
  if (!own) throw new SetupError("this machine has no /proc: the local stack needs Linux");
  const state = new RunState(deps, own);
  const over = new AbortController();
  const stop = AbortSignal.any([deps.stop, over.signal]);
  let watch: Promise<void> | undefined;
  try {
    const stack = await bringUp({ ...deps, stop }, state);
    watch = watchDatabases({ ...deps, stop }, state);
    await introduce(stack, { ...deps, stop }, state);
    await untilAborted(stop);
  } catch (error) {
    // A start that was given up ends in whatever it was waiting for.
    if (!deps.stop.aborted) throw error;
  } finally {
    say("stopping");
    over.abort();
    await watch;
    await state.end();
    say("stopped");
  }
}

/** What run.json is written from. */
class RunState {
  readonly children: KeptChild[] = [];
  #state: Run["state"] = "starting";
  #mysql: Run["mysql"] = null;
  #cassandra: Run["cassandra"] = null;
  #over = false;
  /** While it cannot be written. */
  #retry: NodeJS.Timeout | undefined;
  readonly #deps: SupervisorDeps;
  readonly #own: ProcessIdentity;

  /** Throws SetupError where it cannot be written: then nothing is started. */
  constructor(deps: SupervisorDeps, own: ProcessIdentity) {
    this.#deps = deps;
    this.#own = own;
    writeRun(deps.settings.localDir, this.run());
  }

  run(): Run {
    return {
      state: this.#state,
      supervisor: this.#own,
      api: this.#deps.apiUrl,
      key: LOCAL_KEY,
      mysql: this.#mysql,
      cassandra: this.#cassandra,
      restarting:
        this.#state === "stopping"
          ? []
          : this.children.filter((child) => child.current() === null).map(({ name }) => name),
      processes: this.children.flatMap((child) => child.current() ?? []),
    };
  }

  /** Work goes on where it cannot be written: who stops it all knows what runs without the file. */
  write(): void {
    if (this.#over) return;
    const { settings, say } = this.#deps;
    clearTimeout(this.#retry);
    try {
      writeRun(settings.localDir, this.run());
      this.#retry = undefined;
    } catch (error) {
      if (this.#retry === undefined)
        say(
          `${(error as Error).message}; all goes on, but what starts now is lost to 'npm stop' if this supervisor is killed`,
        );
      this.#retry = setTimeout(() => this.write(), WRITE_RETRY_MS);
    }
  }

  setMysql(mysql: Run["mysql"]): void {
    this.#mysql = mysql;
    this.write();
  }

  setCassandra(cassandra: Run["cassandra"]): void {
    this.#cassandra = cassandra;
    this.write();
  }

  setReady(): void {
    if (this.#state !== "starting") return;
    this.#state = "ready";
    this.write();
  }

  async end(): Promise<void> {
    this.#state = "stopping";
    for (const child of this.children) child.letEnd();
    this.write();
    await stopRun(this.run(), this.#deps);
    // A child's end may be reported later than it was seen: it must not write the file anew.
    this.#over = true;
    removeRun(this.#deps.settings.localDir);
  }
}

/** What a supervisor that was killed has left: stopped first, so that two stacks never share a directory. */
async function clearLeftOvers(deps: SupervisorDeps): Promise<void> {
  const run = readRun(deps.settings.localDir);
  if (!run) return;
  if (isRunning(run) || [run.mysql, run.cassandra].some((each) => each?.kind === "native")) {
    deps.say("an earlier start was killed: stopping what it left");
    await stopRun(run, deps);
  }
  removeRun(deps.settings.localDir);
}

async function bringUp(deps: SupervisorDeps, state: RunState): Promise<Stack> {
  const { settings, say, stop } = deps;
  const databases = await bringUpDatabases(deps, state);
  await deps.prepare(databases, say);
  stop.throwIfAborted();
  const echoPort = await pickEchoPort(settings.localDir);
  const stack = deps.plan(settings, databases, echoPort, deps.env);
  await giveMetricsPorts(stack.children, settings.metricsPort);
  for (const spec of stack.children) startChild(spec, stack, deps, state);
  return stack;
}

/** One port after the other from `first` on, where they are free; a process keeps its own for all its lives. */
async function giveMetricsPorts(children: readonly ChildSpec[], first: number): Promise<void> {
  const given = new Set<number>();
  for (const [at, { env }] of children.filter(({ watched }) => watched).entries()) {
    let port = await pickPort(first === 0 ? 0 : first + at);
    // What was picked before is free still, and may be picked again.
    while (given.has(port)) port = await pickPort(0);
    given.add(port);
    env.METRICS_PORT = String(port);
  }
}

/** Waits for the API, says where everything is and shows it at work, until `stop`. */
async function introduce(stack: Stack, deps: SupervisorDeps, state: RunState): Promise<void> {
  const { say, stop } = deps;
  await untilHealthy(stack, state, stop);
  say(`API      ${stack.apiUrl}/v1   x-api-key: ${LOCAL_KEY}   reference: ${stack.apiUrl}/v1/docs`);
  say(`echo     ${stack.echoUrl}   answers every call`);
  const { mysql, cassandra } = state.run();
  say(
    `MySQL    ${withoutPassword(mysql?.url ?? "")}   Cassandra ${cassandra?.contactPoints ?? ""}`,
  );
  const watched = stack.children.filter((each) => each.watched);
  say(
    `metrics  ${watched.map(({ name, env }) => `${name} :${env.METRICS_PORT}`).join("  ")}   (/metrics, /health)`,
  );
  say(`logs     ${stack.logDir}`);
  const sample = await makeSample(stack.apiUrl, `${stack.echoUrl}/sample`);
  say(sample.line);
  // Without it there is no first call to wait for.
  if (!sample.isCalled) state.setReady();
  await Promise.all([untilReady(stack, state, stop), showCalls(stack, deps, state)]);
}

function startChild(spec: ChildSpec, stack: Stack, deps: SupervisorDeps, state: RunState): void {
  const onChange = () => state.write();
  state.children.push(keepChild(spec, { logDir: stack.logDir, say: deps.say, onChange }));
  state.write();
}

/** The one of the last start, because the sample task knows it; else any. */
async function pickEchoPort(localDir: string): Promise<number> {
  const path = join(localDir, "echo-port");
  let last = 0;
  try {
    last = Number.parseInt(readFileSync(path, "utf8"), 10) || 0;
  } catch {
    // The first start.
  }
  const port = await pickPort(last);
  writeFileSync(path, `${port}\n`);
  return port;
}

async function untilHealthy(stack: Stack, state: RunState, stop: AbortSignal): Promise<void> {
  const endsAt = performance.now() + stack.comesUpInMs;
  while (!(await isHealthy(stack.apiUrl, stop))) {
    stop.throwIfAborted();
    refuseFailing(stack, state);
    if (performance.now() > endsAt) throw didNotComeUp(stack.children[0]?.name ?? "", stack);
    await wait(POLL_MS, stop);
  }
}

/** Until the first call: from then on a child that keeps ending is started again, for as long as it takes. */
async function untilReady(stack: Stack, state: RunState, stop: AbortSignal): Promise<void> {
  while (state.run().state === "starting" && (await wait(POLL_MS, stop))) {
    refuseFailing(stack, state);
  }
}

function refuseFailing(stack: Stack, state: RunState): void {
  const failing = state.children.find((child) => child.ends() >= ENDS_AT_START_MAX);
  if (failing) throw didNotComeUp(failing.name, stack);
}

function didNotComeUp(name: string, stack: Stack): SetupError {
  const log = join(stack.logDir, `${name}.log`);
  const words = lastWords(log).at(-1) ?? "nothing";
  return new SetupError(`the ${name} did not come up; it said: ${words} (all of it: ${log})`);
}

async function isHealthy(apiUrl: string, stop: AbortSignal): Promise<boolean> {
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(HEALTH_ANSWER_MS)]);
    const response = await fetch(`${apiUrl}/v1/health`, { signal });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

async function showCalls(stack: Stack, deps: SupervisorDeps, state: RunState): Promise<void> {
  const startedAtMs = Date.now();
  const late = setTimeout(() => {
    if (state.run().state === "starting")
      deps.say(`no call has arrived yet: the logs in ${stack.logDir} may say why`);
  }, FIRST_CALL_WORD_MS);
  await watchCalls(stack.echoUrl, deps.stop, (call) => {
    clearTimeout(late);
    deps.say(describeCall(call, startedAtMs));
    state.setReady();
    return !deps.quiet;
  });
  clearTimeout(late);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    // The timer keeps the process alive: nothing else may be left to do.
    const alive = setInterval(() => {}, 60_000);
    signal.addEventListener("abort", () => {
      clearInterval(alive);
      resolve();
    });
  });
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = "***";
  return shown.href;
}
