import { parseTenantId, type TenantId } from "#core/domain/ids.ts";
import { TENANT_WEIGHT_MAX } from "#core/domain/limits.ts";
import { type ChosenQuotas, effectiveQuotas, type Quotas } from "#core/domain/quotas.ts";
import { TENANT_WEIGHT_DEFAULT, TENANT_WEIGHT_MIN } from "#core/domain/tenant-weight.ts";
import type { Tenant } from "#core/ports/control-store.ts";
import { createTenant } from "#core/services/access/create-tenant.ts";
import { setQuotas } from "#core/services/access/set-quotas.ts";
import { setWeight } from "#core/services/access/set-weight.ts";
import { isoInstant, listAnswer, readAll } from "./answers.ts";
import {
  type AdminAnswer,
  type AdminCommand,
  type AdminDeps,
  refuse,
  shorten,
} from "./arguments.ts";

/** The option of each quota. */
const QUOTA_OPTIONS: { readonly [Name in keyof Quotas]: string } = {
  tasksMax: "tasks",
  bodyBytesMax: "body-bytes",
  minIntervalSeconds: "min-interval",
};

export const tenantCommands: readonly AdminCommand[] = [
  {
    name: "tenant create",
    operands: ["TENANT"],
    options: { name: "NAME" },
    about: "makes a tenant; TENANT is its id: a-z, 0-9, - and _",
    run: create,
  },
  {
    name: "tenant list",
    operands: [],
    options: {},
    about: "lists all tenants with their status, quotas and weight",
    run: list,
  },
  {
    name: "tenant quotas",
    operands: ["TENANT"],
    options: { tasks: "N", "body-bytes": "N", "min-interval": "SECONDS" },
    about: "sets quotas, 'default' takes one back; without options it shows them",
    run: quotas,
  },
  {
    name: "tenant weight",
    operands: ["TENANT"],
    options: { weight: "N" },
    about: `sets how much of a share its jobs get beside others', from ${TENANT_WEIGHT_MIN} to ${TENANT_WEIGHT_MAX}; 'default' takes it back, without the option it is shown`,
    run: weigh,
  },
  {
    name: "tenant disable",
    operands: ["TENANT"],
    options: {},
    about: "refuses the tenant's requests within a minute; its tasks go on",
    run: (deps, [tenant = ""]) => setStatus(deps, tenant, "disabled"),
  },
  {
    name: "tenant enable",
    operands: ["TENANT"],
    options: {},
    about: "serves the tenant's requests again",
    run: (deps, [tenant = ""]) => setStatus(deps, tenant, "active"),
  },
];

/** The id of a tenant that a person typed. */
export function tenantIdOf(text: string): TenantId {
  return parseTenantId(text) ?? noSuchTenant(text);
}

/** The id of a tenant that there is. */
export async function tenantOf({ control }: AdminDeps, text: string): Promise<TenantId> {
  const id = tenantIdOf(text);
  return (await control.listKeys(id)) === null ? noSuchTenant(text) : id;
}

export function noSuchTenant(id: string): never {
  refuse(`there is no tenant '${shorten(id)}': 'tenant list' shows those there are`);
}

async function create(
  deps: AdminDeps,
  [id = ""]: readonly string[],
  { name }: Readonly<Record<string, string | undefined>>,
): Promise<AdminAnswer> {
  const created = await createTenant(deps, id, name);
  if (created.kind === "invalid") refuse(created.message);
  if (created.kind === "exists") refuse(`tenant ${id} exists already`);
  return {
    json: present(created.tenant),
    lines: [`tenant ${id} is made; next: npm run admin -- key create ${id}`],
  };
}

async function list({ control }: AdminDeps): Promise<AdminAnswer> {
  const tenants = await readAll((after: Tenant | null, limit) =>
    control.listTenants(after?.id ?? null, limit),
  );
  return listAnswer(tenants, present, {
    TENANT: ({ id }) => id,
    STATUS: ({ status }) => status,
    TASKS: (tenant) => quotaText(tenant, "tasksMax"),
    "BODY BYTES": (tenant) => quotaText(tenant, "bodyBytesMax"),
    "MIN INTERVAL": (tenant) => quotaText(tenant, "minIntervalSeconds"),
    WEIGHT: weightText,
    NAME: ({ name }) => name,
  });
}

async function quotas(
  deps: AdminDeps,
  [id = ""]: readonly string[],
  options: Readonly<Record<string, string | undefined>>,
): Promise<AdminAnswer> {
  const changes: Partial<ChosenQuotas> = Object.fromEntries(
    Object.entries(QUOTA_OPTIONS).flatMap(([quota, option]) => {
      const text = options[option];
      return text === undefined ? [] : [[quota, readQuota(option, text)]];
    }),
  );
  const set = await setQuotas(deps, tenantIdOf(id), changes);
  if (set.kind === "no-such-tenant") noSuchTenant(id);
  if (set.kind === "out-of-bounds") {
    refuse(`--${QUOTA_OPTIONS[set.quota]} has to be from ${set.bounds.join(" to ")}`);
  }
  const lines = Object.entries(QUOTA_OPTIONS).map(
    ([quota, option]) => `${option.padEnd(12)}  ${quotaText(set.tenant, quota as keyof Quotas)}`,
  );
  return { json: present(set.tenant), lines };
}

function readQuota(option: string, text: string): number | null {
  if (text === "default") return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  refuse(`--${option} has to be a whole number or 'default', not '${shorten(text)}'`);
}

async function weigh(
  deps: AdminDeps,
  [id = ""]: readonly string[],
  { weight: text }: Readonly<Record<string, string | undefined>>,
): Promise<AdminAnswer> {
  const tenant = text === undefined ? await find(deps, id) : await setWeightTo(deps, id, text);
  return { json: present(tenant), lines: [`weight  ${weightText(tenant)}`] };
}

async function setWeightTo(deps: AdminDeps, id: string, text: string): Promise<Tenant> {
  const bad = (): never =>
    refuse(
      `--weight has to be a number from ${TENANT_WEIGHT_MIN} to ${TENANT_WEIGHT_MAX} with at most 6 decimals, or 'default', not '${shorten(text)}'`,
    );
  if (text !== "default" && !/^\d{1,3}(\.\d{1,6})?$/.test(text)) bad();
  const weight = text === "default" ? null : Number(text);
  const set = await setWeight(deps, tenantIdOf(id), weight);
  switch (set.kind) {
    case "set":
      return set.tenant;
    case "out-of-bounds":
      return bad();
    case "no-such-tenant":
      return noSuchTenant(id);
  }
}

/** As it is: a change of nothing. */
async function find({ control }: AdminDeps, id: string): Promise<Tenant> {
  return (await control.setQuotas(tenantIdOf(id), {})) ?? noSuchTenant(id);
}

function weightText({ weight }: Tenant): string {
  return weight === undefined ? `${TENANT_WEIGHT_DEFAULT} (default)` : String(weight);
}

async function setStatus(
  { control }: AdminDeps,
  id: string,
  status: Tenant["status"],
): Promise<AdminAnswer> {
  const tenant = await control.setTenantStatus(tenantIdOf(id), status);
  if (tenant === null) noSuchTenant(id);
  return {
    json: present(tenant),
    lines: [`tenant ${id} is ${status}: that holds for every request within a minute`],
  };
}

function quotaText(tenant: Tenant, quota: keyof Quotas): string {
  const value = effectiveQuotas(tenant.quotas)[quota];
  return tenant.quotas[quota] === null ? `${value} (default)` : String(value);
}

function present(tenant: Tenant) {
  const { id, name, status, createdAtMs } = tenant;
  return {
    id,
    name,
    status,
    quotas: tenant.quotas,
    effectiveQuotas: effectiveQuotas(tenant.quotas),
    weight: tenant.weight ?? null,
    createdAt: isoInstant(createdAtMs),
  };
}
