import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { openMetrics } from "#adapters/system/metrics.ts";
import type { HealthReport } from "./health.ts";
import { readyCommand } from "./ready-command.ts";
import { serveStatus } from "./serve-status.ts";

const OK: HealthReport = {
  service: "scheduler",
  status: "ok",
  ready: true,
  wrong: [],
  pid: 7,
  startedAt: "2026-01-01T00:00:00.000Z",
  loops: [],
  figures: {},
};

test("health is 200 while nothing is wrong and while draining, else 503; metrics are text for Prometheus; nothing else is there", async () => {
  const metrics = openMetrics("scheduler");
  metrics.count("ticks", 3);
  let report = OK;
  const say = () => {};
  const logger = { info: say, warn: say, error: say };
  const server = serveStatus(0, { metrics, report: () => report, logger });
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  assert.equal(address, "127.0.0.1");
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return {
      status: answer.status,
      type: answer.headers.get("content-type"),
      text: await answer.text(),
    };
  };
  try {
    const health = await get("/health");
    assert.deepEqual([health.status, health.type], [200, "application/json"]);
    assert.deepEqual(JSON.parse(health.text), OK);
    report = { ...OK, status: "draining", wrong: ["polling fails"] };
    assert.equal((await get("/health?verbose")).status, 200);
    report = { ...OK, status: "wrong", wrong: ["polling fails"] };
    assert.equal((await get("/health")).status, 503);
    const text = await get("/metrics");
    assert.equal(text.type, "text/plain; version=0.0.4; charset=utf-8");
    assert.match(text.text, /^at_and_cron_ticks_total\{service="scheduler"\} 3$/m);
    assert.equal((await get("/env")).status, 404);
  } finally {
    server.close();
  }
});

test("the command of a container's check succeeds once the worker is ready, whatever is wrong later", async () => {
  const say = () => {};
  const logger = { info: say, warn: say, error: say };
  let report: HealthReport = { ...OK, ready: false };
  const deps = { metrics: openMetrics("scheduler"), report: () => report, logger };
  const server = serveStatus(0, deps);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [form, program = "", ...args] = readyCommand(port);
  assert.deepEqual([form, program], ["CMD", "node"]);
  const check = () =>
    new Promise<number | null>((resolve) => {
      execFile(process.execPath, args, (error) => resolve(error === null ? 0 : Number(error.code)));
    });
  try {
    assert.equal(await check(), 1);
    report = { ...OK, status: "wrong", wrong: ["polling fails"] };
    assert.equal(await check(), 0);
  } finally {
    server.close();
  }
  await once(server, "close");
  assert.equal(await check(), 1, "nobody answers");
});

test("a port that is taken is said, and the worker goes on", async () => {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { info: say, warn: say, error: say };
  const deps = { metrics: openMetrics("scheduler"), report: () => OK, logger };
  const first = serveStatus(0, deps);
  await once(first, "listening");
  const second = serveStatus((first.address() as AddressInfo).port, deps);
  await once(second, "error");
  assert.deepEqual(said, ["health and metrics are not served: the worker goes on without"]);
  first.close();
});
