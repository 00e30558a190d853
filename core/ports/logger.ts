/**
 * Structured log. Fields are an allow list: nothing that a tenant sent, no URL but its origin; errors as describeError says them, which a
 * lint rule sees to.
 */
export interface LogFields {
  readonly worker?: string;
  readonly shard?: string;
  readonly taskId?: string;
  readonly jobId?: string;
  readonly code?: string;
  readonly errno?: number;
  readonly count?: number;
  readonly waiting?: number;
  readonly durationMs?: number;
  readonly delayMs?: number;
  readonly signal?: string;
  readonly port?: number;
  readonly route?: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly message?: string;
  /** Class of an error. */
  readonly error?: string;
  /** Place in our code. */
  readonly at?: string;
  /** Sums of a run. */
  readonly counters?: Readonly<Record<string, number>>;
}

export interface Logger {
  /** `message` tells the consequence and the mechanism that will repair it. */
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}
