import {
  type CallLimit,
  effectiveLimit,
  endpointKey,
  endpointOf,
  type LimitKey,
  type LimitValues,
  orDefault,
  tenantKey,
} from "#core/domain/call-limit.ts";
import type { TenantId } from "#core/domain/ids.ts";
import {
  LIMIT_CONCURRENCY_MAX,
  LIMIT_PER_SECOND_MAX,
  LIMIT_SPACING_SECONDS_MAX,
} from "#core/domain/limits.ts";
import { type LimitWithWaiting, listLimits } from "#core/services/limits/list-limits.ts";
import { isoInstant, listAnswer, readAll } from "./answers.ts";
import {
  type AdminAnswer,
  type AdminCommand,
  type AdminDeps,
  refuse,
  shorten,
} from "./arguments.ts";
import { noSuchTenant, tenantOf } from "./tenants.ts";

// The operator's caps on calls: of one endpoint of a tenant, of all its calls, and of each endpoint that its tasks call.

const NONE: LimitValues = { concurrency: null, perSecond: null };
const NUMBERS = { concurrency: "N", "per-second": "N" };

export const limitCommands: readonly AdminCommand[] = [
  {
    name: "limits list",
    operands: ["TENANT"],
    options: {},
    about: "lists the tenant's call limits, its own and the operator's caps; the smaller holds",
    run: list,
  },
  {
    name: "limits set",
    operands: ["TENANT"],
    options: { endpoint: "URL", ...NUMBERS },
    about:
      "caps calls at once and a second, of an endpoint such as https://api.example.com or of all; 'none' takes one away",
    run: set,
  },
  {
    name: "limits endpoints",
    operands: ["TENANT"],
    options: NUMBERS,
    about:
      "caps for each endpoint of tasks that are made or get a new URL from now on; 'none' takes one away, without options it shows them",
    run: setEndpoints,
  },
  {
    name: "limits defaults",
    operands: [],
    options: NUMBERS,
    about:
      "the same for all tenants to whom 'limits endpoints' has not given a number of their own",
    run: setDefaults,
  },
];

type Options = Readonly<Record<string, string | undefined>>;

async function list(deps: AdminDeps, [tenant = ""]: readonly string[]): Promise<AdminAnswer> {
  const id = await tenantOf(deps, tenant);
  const limits = await deps.withShards((shards) =>
    readAll(async (after: LimitWithWaiting | null, max) => [
      ...(await listLimits({ shards }, id, after?.limit.key ?? null, max)).items,
    ]),
  );
  const number = (value: number | null) => (value === null ? "-" : String(value));
  return listAnswer(limits, ({ limit, waiting }) => ({ ...present(limit), waiting }), {
    ENDPOINT: ({ limit }) => endpointOf(limit.key) ?? "(all calls)",
    "AT ONCE": ({ limit }) => number(limit.concurrency),
    "A SECOND": ({ limit }) => number(limit.perSecond),
    "CAP AT ONCE": ({ limit }) => number(limit.maxConcurrency),
    "CAP A SECOND": ({ limit }) => number(limit.maxPerSecond),
    WAITING: ({ waiting }) => String(waiting),
  });
}

async function set(
  deps: AdminDeps,
  [tenant = ""]: readonly string[],
  { endpoint, ...numbers }: Options,
): Promise<AdminAnswer> {
  const id = await tenantOf(deps, tenant);
  const key = keyOf(id, endpoint);
  const { concurrency, perSecond } = readNumbers(numbers);
  if (concurrency === undefined && perSecond === undefined)
    refuse("give --concurrency, --per-second or both");
  const limit = await deps.withShards((shards) =>
    shards.forTenant(id).limits.put(key, {
      ...(concurrency === undefined ? {} : { maxConcurrency: concurrency }),
      ...(perSecond === undefined ? {} : { maxPerSecond: perSecond }),
    }),
  );
  const what = endpointOf(key) ?? "all calls";
  if (limit === null) return { json: null, lines: [`${what} of ${id}: no limit`] };
  return {
    json: present(limit),
    lines: [`${what} of ${id}: ${numbersText(effectiveLimit(limit))}`],
  };
}

async function setEndpoints(
  deps: AdminDeps,
  [tenant = ""]: readonly string[],
  options: Options,
): Promise<AdminAnswer> {
  const id = await tenantOf(deps, tenant);
  const set = await deps.control.setEndpointLimit(id, readNumbers(options));
  if (set === null) noSuchTenant(tenant);
  const own = set.endpointLimit;
  const byDefault = await deps.control.setDefaultEndpointLimit({});
  const limit = orDefault(own, byDefault);
  return { json: limit, lines: [`each endpoint of ${id}: ${numbersText(limit, own ?? NONE)}`] };
}

async function setDefaults(
  { control }: AdminDeps,
  _: readonly string[],
  options: Options,
): Promise<AdminAnswer> {
  const limit = await control.setDefaultEndpointLimit(readNumbers(options));
  return {
    json: limit,
    lines: [`each endpoint of a tenant without a number of its own: ${numbersText(limit)}`],
  };
}

function keyOf(id: TenantId, endpoint: string | undefined): LimitKey {
  if (endpoint === undefined) return tenantKey(id);
  const origin = URL.parse(endpoint);
  const isOrigin =
    origin !== null && `${origin.protocol}//${origin.host}/` === origin.href && endpoint !== "";
  const key = isOrigin ? endpointKey(id, endpoint) : null;
  return (
    key ?? refuse("--endpoint has to be scheme, host and port, such as https://api.example.com")
  );
}

function readNumbers(options: Options) {
  return {
    ...read("concurrency", options.concurrency, [1, LIMIT_CONCURRENCY_MAX], /^\d{1,9}$/),
    ...read(
      "per-second",
      options["per-second"],
      [1 / LIMIT_SPACING_SECONDS_MAX, LIMIT_PER_SECOND_MAX],
      /^\d{1,9}(\.\d{1,9})?$/,
    ),
  };
}

function read(
  option: "concurrency" | "per-second",
  text: string | undefined,
  [min, max]: readonly [number, number],
  form: RegExp,
): { concurrency?: number | null; perSecond?: number | null } {
  if (text === undefined) return {};
  const value = text === "none" ? null : form.test(text) ? Number(text) : Number.NaN;
  if (value !== null && !(value >= min && value <= max)) {
    const what = option === "concurrency" ? "whole number" : "number of at most 9 decimals";
    refuse(
      `--${option} has to be a ${what} from ${min} to ${max}, or 'none', not '${shorten(text)}'`,
    );
  }
  return option === "concurrency" ? { concurrency: value } : { perSecond: value };
}

/** `own`: what is not in it holds by default. */
function numbersText(limit: LimitValues, own: LimitValues = limit): string {
  const part = (name: keyof LimitValues, unit: string) =>
    limit[name] === null
      ? []
      : [`${limit[name]} ${unit}${own[name] === limit[name] ? "" : " (the default)"}`];
  const parts = [...part("concurrency", "at once"), ...part("perSecond", "a second")];
  return parts.length === 0 ? "no limit" : parts.join(", ");
}

function present(limit: CallLimit) {
  const { key, updatedAtMs, ...numbers } = limit;
  return { endpoint: endpointOf(key), ...numbers, updatedAt: isoInstant(updatedAtMs) };
}
