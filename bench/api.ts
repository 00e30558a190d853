/**
 * api: how long the API takes for a create, a read and a list of 100 tasks, each at 50 requests a second, and how many statements
 * MySQL gets for each of them: a constant number, whatever the page and the tenant hold.
 *
 * Requests leave at their time whether or not those before have been answered, and are timed from when they should have left: a
 * slow answer is not hidden by the requests that it holds up.
 */
import { openClient } from "#client/client.ts";
import type { Api } from "#client/generated/api.ts";
import { assert } from "#core/domain/assert.ts";
import { addTenant, startGateway } from "#test/support/own-gateway.ts";
import type { Scenario, ScenarioContext, ScenarioOutcome } from "./scenario.ts";
import { type BenchDatabases, openBenchDatabases } from "./stack.ts";

const PER_SECOND = 50;
const SECONDS = 20;
const WARM_UP = 100;
const COUNTED = 20;
const TASKS = 2_000;
const LIST = 100;
/** Tasks are no job's: history is not asked, and may be nowhere. */
const NO_HISTORY = { CASSANDRA_CONTACT_POINTS: "127.0.0.1:9" };
const RATES = { API_RATE_PER_SECOND: "100000", API_BURST: "100000" };

export const scenario: Scenario = {
  question: `latency of the API at ${PER_SECOND} requests/s, and statements per request`,
  takes: [],
  run: runApi,
};

interface Verb {
  readonly name: string;
  call(api: Api): Promise<unknown>;
}

interface Measured {
  readonly name: string;
  readonly ms: readonly number[];
  readonly failed: number;
  readonly statements: number;
}

async function runApi(context: ScenarioContext): Promise<ScenarioOutcome> {
  const { say, signal } = context;
  await using databases = await openBenchDatabases("api", context);
  await using gateway = await startGateway(databases, { ...NO_HISTORY, ...RATES });
  const clientOf = async (name: string) =>
    openClient({ url: gateway.url, apiKey: (await addTenant(databases, name)).key });
  const api = await clientOf("bench");
  const small = await clientOf("small");
  say(`making ${TASKS} tasks`);
  const ids = await makeTasks(api, TASKS);
  await makeTasks(small, 1);
  const verbs: readonly Verb[] = [
    { name: "create", call: (client) => client.createTask({ body: taskOf() }) },
    { name: "get", call: (client) => client.getTask({ taskId: ids[nextOf(ids.length)] ?? "" }) },
    { name: `list of ${LIST}`, call: (client) => client.listTasks({ limit: LIST }) },
  ];
  const measured: Measured[] = [];
  for (const verb of verbs) {
    say(`${verb.name}: ${PER_SECOND}/s for ${SECONDS} s`);
    for (let i = 0; i < WARM_UP; i++) await verb.call(api);
    const statements = await countStatements(databases, () => verb.call(api));
    measured.push({ name: verb.name, statements, ...(await measure(api, verb, signal)) });
  }
  const ofOne = await countStatements(databases, () => small.listTasks({ limit: LIST }));
  return judge(measured, ofOne);
}

let turn = 0;
/** Each of them in turn, in no order that a cache could use. */
function nextOf(count: number): number {
  turn = (turn + 7_919) % count;
  return turn;
}

function taskOf() {
  return {
    schedule: { type: "cron", expression: "0 9 * * *", timezone: "Europe/Madrid" },
    request: { url: "https://example.com/hook", body: JSON.stringify({ pad: "x".repeat(1_000) }) },
  } as const;
}

async function makeTasks(api: Api, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const items = Array.from({ length: Math.min(200, count - ids.length) }, taskOf);
    const { body } = await api.createTasks({ body: { items } });
    ids.push(...body.items.flatMap(({ task }) => (task === undefined ? [] : [task.id])));
  }
  return ids;
}

/** Statements that the server gets for one call; the server is the bench's own, and nobody else's are counted. */
async function countStatements(databases: BenchDatabases, call: () => Promise<unknown>) {
  const questions = async () => {
    const [row] = await databases.run("SHOW GLOBAL STATUS LIKE 'Questions'");
    return Number(row?.Value);
  };
  await call();
  const before = await questions();
  for (let i = 0; i < COUNTED; i++) await call();
  // The second look counts itself.
  return ((await questions()) - before - 1) / COUNTED;
}

async function measure(api: Api, verb: Verb, signal: AbortSignal) {
  const total = PER_SECOND * SECONDS;
  const ms: number[] = [];
  let failed = 0;
  const startMs = performance.now() + 100;
  const calls = Array.from({ length: total }, async (_, i) => {
    const atMs = startMs + (i * 1_000) / PER_SECOND;
    await new Promise((wake) => setTimeout(wake, atMs - performance.now()));
    if (signal.aborted) return;
    await verb.call(api).catch(() => failed++);
    ms.push(performance.now() - atMs);
  });
  await Promise.all(calls);
  signal.throwIfAborted();
  return { ms, failed };
}

function judge(measured: readonly Measured[], statementsOfOne: number): ScenarioOutcome {
  const rows = measured.map((one) => {
    const sorted = one.ms.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
    return { ...one, p50: at(0.5), p99: at(0.99), max: at(1) };
  });
  const list = rows.at(-1);
  assert(list !== undefined, "the list is measured last");
  const constant =
    rows.every(({ statements }) => Number.isInteger(statements)) &&
    list.statements === statementsOfOne;
  const failed = rows.reduce((sum, row) => sum + row.failed, 0);
  return {
    pass: constant && failed === 0,
    figures: {
      perSecond: PER_SECOND,
      seconds: SECONDS,
      tasks: TASKS,
      failed,
      verbs: rows.map(({ name }) => name),
      p50Ms: rows.map(({ p50 }) => round(p50)),
      p99Ms: rows.map(({ p99 }) => round(p99)),
      statements: rows.map(({ statements }) => statements),
      statementsOfListOfOne: statementsOfOne,
    },
    table: [
      ["request", "p50", "p99", "max", "failed", "statements"],
      ...rows.map(({ name, p50, p99, max, statements, failed: wrong }) => [
        name,
        `${p50.toFixed(1)} ms`,
        `${p99.toFixed(1)} ms`,
        `${max.toFixed(1)} ms`,
        String(wrong),
        String(statements),
      ]),
      ["list of 1", "", "", "", "", String(statementsOfOne)],
    ],
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
