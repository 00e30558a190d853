import assert from "node:assert/strict";
import { test } from "node:test";
import type { TenantId } from "#core/domain/ids.ts";
import { PRINCIPALS_KNOWN_MAX, PRINCIPALS_UNKNOWN_MAX } from "#core/domain/limits.ts";
import { QUOTAS_DEFAULT } from "#core/domain/quotas.ts";
import type { KnownPrincipal } from "#core/ports/control-store.ts";
import { rememberPrincipals } from "./remember-principals.ts";

/** A store that knows whoever begins with "known", and two clocks that are moved by hand. */
function open() {
  const now = { wallMs: 1_000_000, monotonicMs: 5 };
  const asked: string[] = [];
  const find = async (caller: string): Promise<KnownPrincipal | null> => {
    asked.push(caller);
    if (!caller.startsWith("known")) return null;
    return {
      tenantId: caller as TenantId,
      scopes: ["read"],
      quotas: QUOTAS_DEFAULT,
      tenantStatus: "active",
    };
  };
  const principals = rememberPrincipals(
    { findPrincipalByKeyHash: find, findPrincipalByArn: (arn) => find(`${arn} as an ARN`) },
    { nowMs: () => now.wallMs, monotonicMs: () => now.monotonicMs },
  );
  const timesAsked = async (caller: string): Promise<number> => {
    asked.length = 0;
    const found = await principals.findPrincipalByKeyHash(caller);
    assert.equal(found?.tenantId ?? null, caller.startsWith("known") ? caller : null);
    return asked.length;
  };
  return { now, asked, principals, timesAsked };
}

test("known callers are asked for every 30 s, unknown ones every 5 s", async () => {
  const { now, timesAsked } = open();
  for (const [caller, keptMs] of [
    ["known", 30_000],
    ["stranger", 5_000],
  ] as const) {
    assert.equal(await timesAsked(caller), 1);
    now.wallMs += keptMs - 1;
    now.monotonicMs += keptMs - 1;
    assert.equal(await timesAsked(caller), 0, "being asked for does not make it younger");
    now.wallMs += 1;
    now.monotonicMs += 1;
    assert.equal(await timesAsked(caller), 1);
  }
});

test("either clock alone is enough to forget: one may stand still, one may be set back", async () => {
  const { now, timesAsked } = open();
  assert.equal(await timesAsked("known"), 1);
  now.wallMs += 30_000;
  assert.equal(await timesAsked("known"), 1);
  now.monotonicMs += 30_000;
  assert.equal(await timesAsked("known"), 1);
  now.wallMs -= 1;
  assert.equal(await timesAsked("known"), 1);
  assert.equal(await timesAsked("known"), 0);
});

test("an answer is as old as its question", async () => {
  const { now, asked, principals } = open();
  const finding = principals.findPrincipalByArn("known");
  now.wallMs += 29_999;
  now.monotonicMs += 29_999;
  await finding;
  await principals.findPrincipalByArn("known");
  assert.equal(asked.length, 1);
  now.wallMs += 1;
  now.monotonicMs += 1;
  await principals.findPrincipalByArn("known");
  assert.equal(asked.length, 2);
});

test("an ARN and a hash of the same text are two callers", async () => {
  const { asked, principals } = open();
  await principals.findPrincipalByKeyHash("known");
  await principals.findPrincipalByArn("known");
  assert.deepEqual(asked, ["known", "known as an ARN"]);
});

test("both memories are bounded, and a flood of strangers pushes no known caller out", async () => {
  const { timesAsked } = open();
  for (let n = 0; n < PRINCIPALS_KNOWN_MAX; n++) await timesAsked(`known ${n}`);
  for (let n = 0; n < PRINCIPALS_UNKNOWN_MAX + 1; n++) await timesAsked(`stranger ${n}`);
  assert.equal(await timesAsked("known 0"), 0);
  assert.equal(await timesAsked("stranger 0"), 1, "the oldest stranger made room");
  assert.equal(await timesAsked(`known ${PRINCIPALS_KNOWN_MAX}`), 1);
  assert.equal(await timesAsked("known 0"), 0, "it was used last");
  assert.equal(await timesAsked("known 1"), 1, "it was used longest ago");
});
