/** What a tenant's calls are signed with: shown by fingerprint, and once as it is when it is new. */
import { shownFingerprint } from "#core/domain/task-secrets.ts";
import type { StoredSigningSecret } from "#core/ports/secret-store.ts";
import type { Shards } from "#core/ports/shards.ts";
import {
  rotateSigningSecret,
  type SigningDeps,
} from "#core/services/signing/rotate-signing-secret.ts";
import type { ApiAnswer, ApiRequest } from "../_shared/api-event.ts";
import { noQuery, nothingSchema } from "../_shared/field-types.ts";
import { isoInstant } from "../_shared/present-request.ts";
import { queryOf } from "../_shared/read-request.ts";
import { validate } from "../_shared/validate.ts";

export async function listSigningOperation(
  { shards }: { readonly shards: Shards },
  request: ApiRequest,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  const { tenantId } = request.principal;
  const valid = await shards.forTenant(tenantId).secrets.listSigningSecrets(tenantId);
  return { status: 200, body: { json: { items: valid.map(present) } } };
}

export async function rotateSigningOperation(
  deps: SigningDeps,
  request: ApiRequest,
): Promise<ApiAnswer> {
  validate(noQuery, queryOf(request));
  validate(nothingSchema, request.json);
  const { secret, valid } = await rotateSigningSecret(deps, request.principal.tenantId);
  return {
    status: 200,
    headers: { "cache-control": "no-store" },
    body: { json: { secret: secret.reveal(), items: valid.map(present) } },
  };
}

function present(stored: StoredSigningSecret): unknown {
  return {
    id: stored.id,
    fingerprint: shownFingerprint(stored),
    createdAt: isoInstant(stored.createdAtMs),
    expiresAt: isoInstant(stored.expiresAtMs),
  };
}
