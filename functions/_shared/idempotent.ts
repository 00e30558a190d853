/** Requests with an `Idempotency-Key`: the same key with the same body gets the same answer for 24 h. */
import { systemDigest } from "#adapters/system/digest.ts";
import { Secret } from "#core/domain/secret.ts";
import type { Idempotency, Replay } from "#core/ports/idempotency.ts";
import type { Sealer } from "#core/ports/secrets.ts";
import type { ApiAnswer, ApiRequest } from "./api-event.ts";
import { fieldsProblem, HttpProblem } from "./problem.ts";

const KEPT_MS = 24 * 3_600_000;
const HEADER = "Idempotency-Key";
/** What an answer says when it is not the first of its key. */
const REPLAYED = { "idempotency-replayed": "true" };

/**
 * What the store is to keep for this request; null when it has no key. `route` is method and path; `answerOf` is what is answered
 * when the thing has been made. A body with secrets comes with a `sealer`: a plain hash of it, kept for a day, would let a thief of the
 * database test guesses. Throws SecretsUnavailable.
 */
export async function idempotencyOf<Made>(
  request: ApiRequest,
  route: string,
  answerOf: (made: Made) => ApiAnswer,
  sealer?: Sealer,
): Promise<Idempotency<Made> | null> {
  const key = request.header("idempotency-key");
  if (key === undefined) return null;
  if (!/^[!-~]{1,255}$/.test(key)) {
    const message = "must have 1 to 255 visible ASCII characters";
    throw fieldsProblem([{ field: HEADER, message }]);
  }
  const body = JSON.stringify(request.json) ?? "";
  const bodyHash =
    sealer === undefined
      ? systemDigest.sha256Hex(body)
      : await sealer.fingerprint(request.principal.tenantId, new Secret(body));
  return {
    route,
    key,
    bodyHash,
    expiresInMs: KEPT_MS,
    answerOf: (made) => JSON.stringify(answerOf(made)),
  };
}

/** The first answer once more. Throws 422 for a key that came with another body, 409 for one whose first request is in work. */
export function replay(found: Replay): ApiAnswer {
  switch (found.kind) {
    case "replayed": {
      const answer = JSON.parse(found.answer) as ApiAnswer;
      return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
    }
    case "key-reused": {
      const message = "has been used with another body";
      throw fieldsProblem([{ field: HEADER, message }]);
    }
    case "key-in-work":
      throw new HttpProblem(409, "the first request with this Idempotency-Key is still in work", {
        headers: { "retry-after": "1" },
      });
  }
}
