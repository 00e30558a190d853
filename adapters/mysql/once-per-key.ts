/**
 * Requests that may be repeated. The key's row is the first thing that the transaction writes: of two requests with one key the
 * second waits for the first one's COMMIT and then finds its answer; where the first is rolled back, it goes on itself.
 */
import type { TenantId } from "#core/domain/ids.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import { DriverFault, isLockWait } from "./errors.ts";
import type { Row, Session } from "./pool.ts";
import {
  findAnswerSql,
  keepAnswerSql,
  reserveKeySql,
  selectKeySql,
} from "./statements/idempotency-keys.ts";
import type { Database } from "./transaction.ts";

/** Runs `work` and keeps its answer, or gives the kept one. Work that has made nothing must have written nothing that counts. */
export async function oncePerKey<Made, Result>(
  session: Session,
  tenantId: TenantId,
  idempotency: Idempotency<Made> | null,
  work: () => Promise<{ readonly result: Result; readonly made: Made | null }>,
): Promise<Result | Replay> {
  if (idempotency === null) return (await work()).result;
  const replay = await reserve(session, tenantId, idempotency);
  if (replay !== null) return replay;
  const { result, made } = await work();
  // The COMMIT that follows a ROLLBACK finds nothing: the key stays free.
  if (made === null) await session.write("ROLLBACK");
  else await session.write(keepAnswerSql(tenantId, idempotency, idempotency.answerOf(made)));
  return result;
}

async function reserve(
  session: Session,
  tenantId: TenantId,
  idempotency: Idempotency<never>,
): Promise<Replay | null> {
  try {
    if ((await session.write(reserveKeySql(tenantId, idempotency))) > 0) return null;
  } catch (error) {
    // The server has rolled back the statement only, which was the first.
    if (error instanceof DriverFault && isLockWait(error)) return { kind: "key-in-work" };
    throw error;
  }
  const [row] = await session.select(selectKeySql(tenantId, idempotency));
  return readReplay(row ?? [], idempotency.bodyHash);
}

/** What is kept for a key, without taking it. */
export async function findAnswer(
  database: Database,
  tenantId: TenantId,
  request: Pick<Idempotency<never>, "route" | "key" | "bodyHash">,
): Promise<Replay | null> {
  const [row] = await database.select(findAnswerSql(tenantId, request));
  return row === undefined ? null : readReplay(row, request.bodyHash);
}

function readReplay([keptHash, answer]: Row, bodyHash: string): Replay {
  if ((keptHash as Buffer).toString("hex") !== bodyHash) return { kind: "key-reused" };
  return { kind: "replayed", answer: answer as string };
}
