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
  const replay = findAnswer(tables, tenantId, idempotency, nowMs);
  if (replay !== null) return replay;
  const { bodyHash, expiresInMs, answerOf } = idempotency;
  const { result, made } = work();
  if (made !== null) {
    tables.answers.set(nameOf(tenantId, idempotency), {
      bodyHash,
      answer: answerOf(made),
      expiresAtMs: nowMs + expiresInMs,
    });
  }
  return result;
}

/** What is kept for a key. */
export function findAnswer(
  tables: MemoryTables,
  tenantId: TenantId,
  request: Pick<Idempotency<never>, "route" | "key" | "bodyHash">,
  nowMs: number,
): Replay | null {
  const kept = tables.answers.get(nameOf(tenantId, request));
  if (kept === undefined || kept.expiresAtMs <= nowMs) return null;
  if (kept.bodyHash !== request.bodyHash) return { kind: "key-reused" };
  return { kind: "replayed", answer: kept.answer };
}

function nameOf(
  tenantId: TenantId,
  { route, key }: Pick<Idempotency<never>, "route" | "key">,
): string {
  return JSON.stringify([tenantId, route, key]);
}
