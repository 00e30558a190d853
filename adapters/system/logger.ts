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
  "durationMs",
  "delayMs",
  "signal",
  "port",
  "route",
  "status",
  "requestId",
  "message",
  "error",
  "at",
  "counters",
] as const satisfies readonly (keyof LogFields)[];

const TEXT_LENGTH_MAX = 500;
/** Lines that cannot be written wait up to here; later ones are dropped. */
const UNWRITTEN_CHARACTERS_MAX = 256 * 1024;

/** A logger that also takes lines of metrics: names of a closed list with numbers, said at every level but `silent`. */
export interface ProcessLogger extends Logger {
  metrics(line: Readonly<Record<string, unknown>>): void;
}

/**
 * A logger that writes one JSON line per message to stdout. Fields outside the allow list are dropped, and so is what is neither text nor
 * number, whatever the types say.
 */
export function openLogger(options: { service: string; level: LogLevel }): ProcessLogger {
  const stdout = pino.destination({ dest: 1, sync: true, maxLength: UNWRITTEN_CHARACTERS_MAX });
  // Its disk may be full: what cannot be written is tried again with the next line, and the work goes on.
  stdout.on("error", () => {});
  const settings = {
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const sink = pino(settings, stdout);
  const figures = sink.child({}, { level: options.level === "silent" ? "silent" : "info" });
  return {
    metrics: (line) => figures.info(line, "metrics"),
    info: (message, fields) => sink.info(allowed(fields), plain(message) as string),
    warn: (message, fields) => sink.warn(allowed(fields), plain(message) as string),
    error: (message, fields) => sink.error(allowed(fields), plain(message) as string),
  };
}

function allowed(fields: LogFields = {}): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name of ALLOWED) {
    const value = name === "counters" ? numbersOf(fields[name]) : plain(fields[name]);
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

function plain(value: unknown): string | number | undefined {
  if (typeof value === "string") return value.slice(0, TEXT_LENGTH_MAX);
  return typeof value === "number" ? value : undefined;
}

function numbersOf(counters: unknown): Record<string, number> | undefined {
  if (typeof counters !== "object" || counters === null) return undefined;
  return Object.fromEntries(
    Object.entries(counters).filter(([, count]) => typeof count === "number"),
  );
}
