/** A caller as the executor has it, and calls of one tenant, for the tests of this folder. */
import { type CallerOptions, openCaller } from "#adapters/http/caller.ts";
import { createEgressPolicy } from "#adapters/http/egress-policy.ts";
import { systemClock } from "#adapters/system/clock.ts";
import type { TenantId } from "#core/domain/ids.ts";
import type { Call, Caller, CallOutcome } from "#core/ports/caller.ts";
import type { LogFields } from "#core/ports/logger.ts";

export interface TestCaller {
  readonly caller: Caller;
  /** What the log got about refusals, oldest first. */
  readonly refusals: LogFields[];
  call(url: string, changes?: Partial<Call>): Promise<CallOutcome>;
}

export function openTestCaller(options: Partial<CallerOptions> = {}): TestCaller {
  const refusals: LogFields[] = [];
  const caller = openCaller({
    clock: systemClock,
    logger: { info() {}, error() {}, warn: (_message, fields = {}) => void refusals.push(fields) },
    policy: createEgressPolicy(),
    ...options,
  });
  const never = new AbortController().signal;
  return {
    caller,
    refusals,
    call: (url, changes = {}) => caller.call({ ...callTo(url), ...changes }, never),
  };
}

function callTo(url: string): Call {
  return {
    tenantId: "acme" as TenantId,
    method: "POST",
    url,
    headers: {},
    body: '{"a":1}',
    timeoutMs: 5_000,
    responseBytesMax: 1_024,
  };
}

/** Status of an answer, or the error's code. */
export function endOf(outcome: CallOutcome): string | number {
  return outcome.kind === "answered" ? outcome.statusCode : outcome.error;
}
