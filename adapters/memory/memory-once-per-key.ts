/** Requests that may be repeated, in memory: nothing interleaves, so that no key is ever in work. */
import type { TenantId } from "#core/domain/ids.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { MemoryTables } from "./memory-tables.ts";

/** Runs `work` and keeps its answer, or gives the kept one. */
export function oncePerKey<Made, Result>(
  tables: MemoryTables,
  tenantId: TenantId,
  idempotency: Idempotency<Made> | null,
  nowMs: number,
  work: () => { readonly result: Result; readonly made: Made | null },
): Result | Replay {
  if (idempotency === null) return work().result;
  const { route, key, bodyHash, expiresInMs, answerOf } = idempotency;
  const name = JSON.stringify([tenantId, route, key]);
  const kept = tables.answers.get(name);
  if (kept !== undefined && kept.expiresAtMs > nowMs) {
    if (kept.bodyHash !== bodyHash) return { kind: "key-reused" };
    return { kind: "replayed", answer: kept.answer };
  }
  const { result, made } = work();
  if (made !== null) {
    tables.answers.set(name, {
      bodyHash,
      answer: answerOf(made),
      expiresAtMs: nowMs + expiresInMs,
    });
  }
  return result;
}
