/**
 * What API Gateway is told about a key, once a minute at most: whether it is one of ours. Everything else (scope, tenant, a key that was
 * revoked since) is decided by the handlers, which look at the same key themselves; so what the gateway remembers opens nothing.
 */
import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { API_KEY_LENGTH_MAX } from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { PrincipalStore } from "#core/ports/control-store.ts";
import type { Digest } from "#core/ports/digest.ts";
import { withDeadline } from "../_shared/deadline.ts";

/** The words, and no others, that make API Gateway answer 401. */
const UNAUTHORIZED = "Unauthorized";
const ANSWER_MS = 4_000;

export interface AuthorizeDeps {
  readonly principals: PrincipalStore;
  readonly clock: Clock;
  readonly digest: Digest;
}

/** Throws "Unauthorized" for a key that is none, StoreUnavailable (which the gateway answers as 503) when it cannot be known. */
export async function authorizeKey(
  { principals, clock, digest }: AuthorizeDeps,
  event: APIGatewayRequestAuthorizerEvent,
): Promise<APIGatewayAuthorizerResult> {
  const key = keyOf(event);
  if (key === "" || key.length > API_KEY_LENGTH_MAX) throw new Error(UNAUTHORIZED);
  const deadlineMs = clock.monotonicMs() + ANSWER_MS;
  const asked = principals.findPrincipalByKeyHash(digest.sha256Hex(key));
  const found = await withDeadline(clock, deadlineMs, "read", asked);
  if (found === null) throw new Error(UNAUTHORIZED);
  return {
    principalId: found.tenantId,
    policyDocument: {
      Version: "2012-10-17",
      Statement: [{ Effect: "Allow", Action: "execute-api:Invoke", Resource: everyMethod(event) }],
    },
  };
}

function keyOf({ headers }: APIGatewayRequestAuthorizerEvent): string {
  for (const [name, value] of Object.entries(headers ?? {}))
    if (name.toLowerCase() === "x-api-key") return value ?? "";
  return "";
}

/** The answer is remembered for the key, whatever it asks for next: it has to hold for the whole stage. */
function everyMethod({ methodArn }: APIGatewayRequestAuthorizerEvent): string {
  const [api = "", stage = ""] = methodArn.split("/");
  return `${api}/${stage}/*`;
}
