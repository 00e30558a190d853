/**
 * Who calls, and whether they may: the one place that reads credentials from an API Gateway event.
 *
 * An API key (header `x-api-key`) comes first, also a wrong one; else the IAM caller whose signature API Gateway has checked.
 * Keys are looked up by their hash, so the time that it takes tells nothing about a key, and nothing here compares secrets.
 */
import type { APIGatewayProxyEvent } from "aws-lambda";
import { API_KEY_LENGTH_MAX } from "#core/domain/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { KnownPrincipal, PrincipalStore } from "#core/ports/control-store.ts";
import type { Digest } from "#core/ports/digest.ts";
import { normalizePrincipalArn } from "#core/services/access/principal-arn.ts";
import { rememberPrincipals } from "#core/services/access/remember-principals.ts";
import { withDeadline } from "./deadline.ts";
import type { ApiMiddleware } from "./middlewares.ts";
import { HttpProblem } from "./problem.ts";

/** RFC 9110 asks every 401 to say how to do better. */
const CHALLENGE = { "www-authenticate": 'ApiKey realm="at-and-cron", header="x-api-key"' };

/**
 * Notes the caller's principal, when the route needs one. Answers 401 without a known key, 403 for an IAM caller of no tenant, a
 * disabled tenant and a missing scope. Throws StoreUnavailable (503) when it cannot be known.
 */
export function authenticate(store: PrincipalStore, clock: Clock, digest: Digest): ApiMiddleware {
  const principals = rememberPrincipals(store, clock);
  return {
    before: async ({ event }) => {
      const { route, deadlineMs = 0 } = event;
      if (route === undefined || route.scope === null) return;
      const finding = findPrincipal(principals, digest, event);
      const principal = await withDeadline(clock, deadlineMs, "read", finding);
      if (principal.tenantStatus === "disabled")
        throw new HttpProblem(403, `tenant ${principal.tenantId} is disabled`);
      if (!principal.scopes.includes(route.scope)) {
        const has = principal.scopes.join(", ");
        throw new HttpProblem(403, `this needs the scope "${route.scope}"; the caller has ${has}`);
      }
      const { tenantId, scopes, quotas } = principal;
      event.principal = { tenantId, scopes, quotas };
    },
  };
}

async function findPrincipal(
  principals: PrincipalStore,
  digest: Digest,
  event: APIGatewayProxyEvent,
): Promise<KnownPrincipal> {
  const key = apiKeyOf(event);
  if (key !== null) {
    const found =
      key.length > API_KEY_LENGTH_MAX
        ? null
        : await principals.findPrincipalByKeyHash(digest.sha256Hex(key));
    if (found === null) throw unauthorized("this API key is not known");
    return found;
  }
  const userArn = userArnOf(event);
  if (userArn === null) throw unauthorized("an API key is needed, in the header x-api-key");
  const arn = normalizePrincipalArn(userArn);
  const found = arn === null ? null : await principals.findPrincipalByArn(arn);
  if (found === null)
    throw new HttpProblem(403, `the IAM principal ${arn ?? userArn} acts for no tenant`);
  return found;
}

function unauthorized(detail: string): HttpProblem {
  return new HttpProblem(401, detail, { headers: CHALLENGE });
}

/** The key in the event's headers, in whichever form it has them; null when there is none. */
function apiKeyOf({ headers, multiValueHeaders }: APIGatewayProxyEvent): string | null {
  const given = new Set<string>();
  for (const [name, value] of [
    ...Object.entries(headers ?? {}),
    ...Object.entries(multiValueHeaders ?? {}),
  ]) {
    if (name.toLowerCase() !== "x-api-key") continue;
    for (const each of Array.isArray(value) ? value : [value]) if (each) given.add(each);
  }
  if (given.size > 1) throw unauthorized("several API keys are given: which one counts is unclear");
  return given.values().next().value ?? null;
}

/** The IAM caller, as REST APIs tell it and as HTTP APIs do. Callers cannot write either. */
function userArnOf({ requestContext }: APIGatewayProxyEvent): string | null {
  const { identity, authorizer } = requestContext;
  const arn: unknown = identity?.userArn ?? authorizer?.iam?.userArn;
  return typeof arn === "string" && arn !== "" ? arn : null;
}
