import { pino } from "pino";
import type { LogFields, Logger } from "#core/ports/logger.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const ALLOWED = [
  "worker",
  "shard",
  "taskId",
  "jobId",
  "code",
  "errno",
  "count",
  "waiting",
  "lost",
  "durationMs",
  "delayMs",
  "signal",
  "port",
  "route",
  "status",
  "requestId",
  "message",
  "counters",
] as const satisfies readonly (keyof LogFields)[];

/** A logger that writes one JSON line per message to stdout; fields outside the allow list are dropped. */
export function openLogger(options: { service: string; level: LogLevel }): Logger {
  const sink = pino({
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
  return {
    info: (message, fields) => sink.info(allowed(fields), message),
    warn: (message, fields) => sink.warn(allowed(fields), message),
    error: (message, fields) => sink.error(allowed(fields), message),
  };
}

function allowed(fields: LogFields = {}): LogFields {
  const kept: Record<string, unknown> = {};
  for (const name of ALLOWED) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept;
}
