import type { RotatingAccount } from "#adapters/mysql/account.ts";
import { openControlStore } from "#adapters/mysql/control-store.ts";
import type { WeightOf } from "#core/domain/tenant-weight.ts";
import { TenantWeights } from "#core/services/access/tenant-weights.ts";
import { type LoopDeps, runLoop } from "./run-loop.ts";

interface ControlEnv {
  readonly MYSQL_URL: string;
  readonly DATABASE_PREFIX: string;
}

/** Reads the tenants' weights until `stop`, beside whatever the worker does; `ended` resolves when the last read is over. */
export function keepWeights(
  env: ControlEnv,
  account: RotatingAccount | null,
  deps: LoopDeps,
  stop: AbortSignal,
): { readonly weightOf: WeightOf; readonly ended: Promise<void> } {
  const control = openControlStore({
    mysqlUrl: env.MYSQL_URL,
    account,
    databasePrefix: env.DATABASE_PREFIX,
    logger: deps.logger,
  });
  const weights = new TenantWeights(control);
  const loop = {
    name: "tenant weights",
    meanwhile: "tenants keep the weights that were last read, or have none; read again within 30 s",
    step: () => weights.readOnce(),
    backoffMs: { first: 1_000, max: 30_000 },
  };
  const ended = runLoop(deps, loop, stop).finally(() => control.close());
  return { weightOf: weights.weightOf, ended };
}
