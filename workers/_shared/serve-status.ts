/**
 * `/health` and `/metrics` of one process, on the loopback interface only: for whoever is on the machine, or in the container. Health is
 * not what a platform should restart by: what is wrong here is mended by waiting, or by somebody, hardly ever by a new process. That is
 * what `/ready` is for: 503 until the process has worked once, then 200 for good, so that a release which cannot work is noticed.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { MetricsInMemory } from "#adapters/system/metrics.ts";
import { PROMETHEUS_TYPE, prometheusText } from "#adapters/system/prometheus-text.ts";
import { describeError } from "#core/domain/describe-error.ts";
import type { Logger } from "#core/ports/logger.ts";
import type { HealthReport } from "./health.ts";

const ANSWER_MS = 2_000;
const CONNECTIONS_MAX = 20;

export interface StatusDeps {
  readonly metrics: MetricsInMemory;
  readonly report: () => HealthReport;
  readonly logger: Logger;
}

/** Serves until the process ends; nothing waits for it. A port that is taken is said, and no reason to end. */
export function serveStatus(port: number, { metrics, report, logger }: StatusDeps): Server {
  const server = createServer((request, response) => {
    // The path alone; whatever else is asked is answered the same.
    const path = (request.url ?? "").split("?", 1)[0];
    if (path === "/metrics") answer(response, 200, PROMETHEUS_TYPE, prometheusText(metrics));
    else if (path === "/health") {
      const health = report();
      const status = health.status === "wrong" ? 503 : 200;
      answer(response, status, "application/json", `${JSON.stringify(health, null, 2)}\n`);
    } else if (path === "/ready") {
      const { ready } = report();
      answer(response, ready ? 200 : 503, "text/plain", ready ? "ready\n" : "not ready yet\n");
    } else answer(response, 404, "text/plain", "there are /health, /ready and /metrics\n");
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.requestTimeout = ANSWER_MS;
  server.headersTimeout = ANSWER_MS;
  server.on("error", (error) => {
    logger.warn("health and metrics are not served: the worker goes on without", {
      port,
      ...describeError(error),
    });
  });
  server.listen(port, "127.0.0.1");
  server.unref();
  return server;
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
  response.end(body);
}
