import { shownFingerprint } from "#core/domain/task-secrets.ts";
import type { StoredSigningSecret } from "#core/ports/secret-store.ts";
import { rotateSigningSecret } from "#core/services/signing/rotate-signing-secret.ts";
import { isoInstant, listAnswer } from "./answers.ts";
import type { AdminAnswer, AdminCommand, AdminDeps } from "./arguments.ts";
import { tenantOf } from "./tenants.ts";

// What a tenant's calls are signed with.

export const secretCommands: readonly AdminCommand[] = [
  {
    name: "secret list",
    operands: ["TENANT"],
    options: {},
    about: "lists what the tenant's calls are signed with, by fingerprint, newest first",
    run: list,
  },
  {
    name: "secret rotate",
    operands: ["TENANT"],
    options: {},
    about:
      "makes a new signing secret and shows it, this once; the one before it is valid for 24 h more, a third rotation in that time ends it",
    run: rotate,
  },
];

async function list(deps: AdminDeps, [tenant = ""]: readonly string[]): Promise<AdminAnswer> {
  const id = await tenantOf(deps, tenant);
  const valid = await deps.withShards((shards) =>
    shards.forTenant(id).secrets.listSigningSecrets(id),
  );
  return listAnswer(valid, present, {
    SECRET: (secret) => secret.id,
    FINGERPRINT: shownFingerprint,
    CREATED: ({ createdAtMs }) => isoInstant(createdAtMs),
    EXPIRES: ({ expiresAtMs }) => (expiresAtMs === null ? "-" : isoInstant(expiresAtMs)),
  });
}

async function rotate(deps: AdminDeps, [tenant = ""]: readonly string[]): Promise<AdminAnswer> {
  const id = await tenantOf(deps, tenant);
  const { secret, valid } = await deps.withSigning((signing) => rotateSigningSecret(signing, id));
  const text = secret.reveal();
  const others = valid.flatMap(({ id: before, expiresAtMs }) =>
    expiresAtMs === null ? [] : [`, and with ${before} until ${isoInstant(expiresAtMs)}`],
  );
  return {
    json: { secret: text, items: valid.map(present) },
    lines: [
      `calls of ${id} are signed with it within 30 s${others.join("")}`,
      text,
      "it is shown only now: give it to whoever checks the calls",
    ],
  };
}

function present(secret: StoredSigningSecret) {
  return {
    id: secret.id,
    fingerprint: shownFingerprint(secret),
    createdAt: isoInstant(secret.createdAtMs),
    expiresAt: secret.expiresAtMs === null ? null : isoInstant(secret.expiresAtMs),
  };
}
