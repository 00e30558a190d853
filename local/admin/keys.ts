import { parseKeyId } from "#core/domain/key-id.ts";
import type { ApiKey, Scope } from "#core/ports/control-store.ts";
import { createKey } from "#core/services/access/create-key.ts";
import { readScopes } from "#core/services/access/read-scopes.ts";
import { isoInstant, listAnswer } from "./answers.ts";
import {
  type AdminAnswer,
  type AdminCommand,
  type AdminDeps,
  refuse,
  shorten,
} from "./arguments.ts";
import { noSuchTenant, tenantIdOf } from "./tenants.ts";

const SCOPES_DEFAULT: readonly Scope[] = ["read", "write"];

export const keyCommands: readonly AdminCommand[] = [
  {
    name: "key create",
    operands: ["TENANT"],
    options: { scopes: "SCOPES" },
    about: "makes an API key and shows it, this once (SCOPES: read,write unless given)",
    run: create,
  },
  {
    name: "key list",
    operands: ["TENANT"],
    options: {},
    about: "lists a tenant's keys by their ids: live ones first, then the newest",
    run: list,
  },
  {
    name: "key revoke",
    operands: ["KEYID"],
    options: {},
    about: "refuses a key within a minute, for ever",
    run: revoke,
  },
];

/** Scopes that a person typed, or those that a caller gets unless told otherwise. */
export function scopesOf(text: string | undefined): readonly Scope[] {
  if (text === undefined) return SCOPES_DEFAULT;
  return (
    readScopes(text) ??
    refuse(`--scopes has one or more of read,write,admin, with commas, not '${shorten(text)}'`)
  );
}

async function create(
  deps: AdminDeps,
  [tenant = ""]: readonly string[],
  options: Readonly<Record<string, string | undefined>>,
): Promise<AdminAnswer> {
  const scopes = scopesOf(options.scopes);
  const created = await createKey(deps, tenantIdOf(tenant), scopes);
  if (created.kind === "no-such-tenant") noSuchTenant(tenant);
  if (created.kind === "too-many") {
    const ids = created.live.map(({ id }) => id);
    refuse(
      `${tenant} has ${ids.length} live keys with the scopes ${scopes.join(",")} (${ids.join(", ")}): revoke one first, as in: npm run admin -- key revoke ${ids.at(-1)}`,
    );
  }
  const secret = created.secret.reveal();
  return {
    json: { ...present(created.key), secret },
    lines: [
      `${created.key.id} of ${tenant} may ${scopes.join(", ")}; requests carry it in the header x-api-key`,
      secret,
      "it is shown only now: keep it where your secrets are",
    ],
  };
}

async function list(
  { control }: AdminDeps,
  [tenant = ""]: readonly string[],
): Promise<AdminAnswer> {
  const keys = (await control.listKeys(tenantIdOf(tenant))) ?? noSuchTenant(tenant);
  return listAnswer(keys, present, {
    KEY: ({ id }) => id,
    SCOPES: ({ scopes }) => scopes.join(","),
    CREATED: ({ createdAtMs }) => isoInstant(createdAtMs),
    REVOKED: ({ revokedAtMs }) => (revokedAtMs === null ? "-" : isoInstant(revokedAtMs)),
  });
}

async function revoke(
  { control }: AdminDeps,
  [text = ""]: readonly string[],
): Promise<AdminAnswer> {
  const id = parseKeyId(text);
  if (id === null) {
    // It may be the secret itself: it is not repeated.
    refuse("that is no key's id: it is key_ and 16 hex digits, and 'key list TENANT' shows it");
  }
  const revoked = await control.revokeKey(id);
  if (revoked.kind === "not-found") refuse(`there is no key ${id}: 'key list TENANT' shows keys`);
  const { key, kind } = revoked;
  const lines =
    kind === "revoked"
      ? [`${id} of ${key.tenantId} is revoked: refused everywhere within a minute`]
      : [`${id} of ${key.tenantId} was revoked before, at ${isoInstant(key.revokedAtMs ?? 0)}`];
  return { json: present(key), lines };
}

function present({ id, tenantId, scopes, createdAtMs, revokedAtMs }: ApiKey) {
  return {
    id,
    tenantId,
    scopes,
    createdAt: isoInstant(createdAtMs),
    revokedAt: revokedAtMs === null ? null : isoInstant(revokedAtMs),
  };
}
