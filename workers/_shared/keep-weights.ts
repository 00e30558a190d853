import { type ControlStoreOptions, openControlStore } from "#adapters/mysql/control-store.ts";
import { describeError } from "#core/domain/describe-error.ts";
import { OperatingError } from "#core/domain/errors.ts";
import { TENANT_WEIGHTS_AGAIN_MS } from "#core/domain/limits.ts";
import type { WeightOf } from "#core/domain/tenant-weight.ts";
import type { Logger } from "#core/ports/logger.ts";
import { TenantWeights } from "#core/services/access/tenant-weights.ts";
import { type LoopDeps, runLoop } from "./run-loop.ts";

/**
 * Reads the tenants' weights until `stop`, beside whatever the worker does; `ended` resolves when the last read is over. A worker that
 * cannot read them works as before: its log says so, and nobody need look at it.
 */
export function keepWeights(
  mysql: ControlStoreOptions,
  { clock, random, logger }: LoopDeps,
  stop: AbortSignal,
): { readonly weightOf: WeightOf; readonly ended: Promise<void> } {
  const control = openControlStore(mysql);
  const weights = new TenantWeights(control);
  const loop = {
    name: "tenant weights",
    step: () => readOrLeave(weights, logger),
    backoffMs: { first: 1_000, max: 10_000 },
  };
  const ended = runLoop({ clock, random, logger }, loop, stop).finally(() => control.close());
  return { weightOf: weights.weightOf, ended };
}

/** What is refused, such as on a schema that is older than this code, is no reason to end: it is asked for again with the next read. */
async function readOrLeave(weights: TenantWeights, logger: Logger): Promise<number> {
  try {
    return await weights.readOnce();
  } catch (error) {
    if (!(error instanceof OperatingError) || error.retryable) throw error;
    logger.warn("tenants' weights not read: the last known hold, or none", describeError(error));
    return TENANT_WEIGHTS_AGAIN_MS;
  }
}
