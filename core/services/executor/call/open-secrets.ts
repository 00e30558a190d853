/** Opens the secrets that a request names, right before it is sent. */
import type { TaskId, TenantId } from "#core/domain/ids.ts";
import { type Credential, readCredential } from "#core/domain/target-auth.ts";
import type { HttpRequest } from "#core/domain/task.ts";
import { AUTH_SECRET, headerSecret, type StoredSecret } from "#core/domain/task-secrets.ts";
import type { Opener } from "#core/ports/secrets.ts";

export type OpenedSecrets =
  | {
      readonly kind: "opened";
      /** By the names that the request gives them. */
      readonly headers: Readonly<Record<string, string>>;
      readonly credential: Credential | null;
    }
  /** The task has it no longer; or what is stored was not sealed for this task and name. */
  | { readonly kind: "failed"; readonly error: "secret-missing" | "secret-unreadable" };

interface Owner {
  readonly tenantId: TenantId;
  readonly taskId: TaskId;
}

/** Throws SecretsUnavailable, and what the store of data keys throws. */
export async function openSecrets(
  opener: Opener,
  { tenantId, taskId }: Owner,
  { secretHeaders = [], auth }: HttpRequest,
  stored: readonly StoredSecret[],
): Promise<OpenedSecrets> {
  const open = async (name: string) => {
    const row = stored.find((secret) => secret.name === name);
    if (row === undefined) return "secret-missing";
    const place = { tenantId, owner: taskId, field: name };
    return (await opener.open(place, row.sealed)) ?? "secret-unreadable";
  };
  const headers: Record<string, string> = {};
  for (const headerName of secretHeaders) {
    const value = await open(headerSecret(headerName));
    if (typeof value === "string") return { kind: "failed", error: value };
    headers[headerName] = value.reveal();
  }
  if (auth === undefined) return { kind: "opened", headers, credential: null };
  const text = await open(AUTH_SECRET);
  if (typeof text === "string") return { kind: "failed", error: text };
  const credential = readCredential(text);
  return credential === null
    ? { kind: "failed", error: "secret-unreadable" }
    : { kind: "opened", headers, credential };
}
