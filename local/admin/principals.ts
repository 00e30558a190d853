import type { MappedPrincipal } from "#core/ports/control-store.ts";
import { mapPrincipal } from "#core/services/access/map-principal.ts";
import { unmapPrincipal } from "#core/services/access/unmap-principal.ts";
import { isoInstant, listAnswer, readAll } from "./answers.ts";
import {
  type AdminAnswer,
  type AdminCommand,
  type AdminDeps,
  refuse,
  shorten,
} from "./arguments.ts";
import { scopesOf } from "./keys.ts";
import { noSuchTenant, tenantIdOf } from "./tenants.ts";

export const principalCommands: readonly AdminCommand[] = [
  {
    name: "principal map",
    operands: ["ARN", "TENANT"],
    options: { scopes: "SCOPES" },
    about: "lets an IAM role or user call for the tenant (SCOPES: read,write unless given)",
    run: map,
  },
  {
    name: "principal list",
    operands: [],
    options: {},
    about: "lists the IAM roles and users that may call",
    run: list,
  },
  {
    name: "principal unmap",
    operands: ["ARN"],
    options: {},
    about: "refuses an IAM role or user within a minute",
    run: unmap,
  },
];

async function map(
  deps: AdminDeps,
  [arn = "", tenant = ""]: readonly string[],
  options: Readonly<Record<string, string | undefined>>,
): Promise<AdminAnswer> {
  const scopes = scopesOf(options.scopes);
  const mapped = await mapPrincipal(deps, arn, tenantIdOf(tenant), scopes);
  switch (mapped.kind) {
    case "not-an-arn":
      return notAnArn(arn);
    case "no-such-tenant":
      return noSuchTenant(tenant);
    case "taken":
      return refuse(`it acts for tenant ${mapped.by} already: unmap it there first`);
    case "mapped": {
      const { principal } = mapped;
      const lines = [`${principal.arn} may ${scopes.join(", ")} for ${tenant}`];
      return { json: present(principal), lines };
    }
  }
}

async function list({ control }: AdminDeps): Promise<AdminAnswer> {
  const principals = await readAll((after: MappedPrincipal | null, limit) =>
    control.listPrincipals(after?.arn ?? null, limit),
  );
  return listAnswer(principals, present, {
    ARN: ({ arn }) => arn,
    TENANT: ({ tenantId }) => tenantId,
    SCOPES: ({ scopes }) => scopes.join(","),
  });
}

async function unmap(deps: AdminDeps, [text = ""]: readonly string[]): Promise<AdminAnswer> {
  const unmapped = await unmapPrincipal(deps, text);
  if (unmapped.kind === "not-an-arn") return notAnArn(text);
  if (unmapped.kind === "not-mapped") {
    return refuse("this principal acts for no tenant: 'principal list' shows those that do");
  }
  const { arn } = unmapped;
  return { json: { arn }, lines: [`${arn} acts for nobody: refused everywhere within a minute`] };
}

function notAnArn(text: string): never {
  refuse(
    `'${shorten(text)}' is no role's or user's ARN, such as arn:aws:iam::123456789012:role/Caller`,
  );
}

function present({ arn, tenantId, scopes, createdAtMs }: MappedPrincipal) {
  return { arn, tenantId, scopes, createdAt: isoInstant(createdAtMs) };
}
