/** Waiting for the account ends with the caller's deadline, and one that never comes is asked for anew. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { StoreUnavailable } from "#core/domain/errors.ts";
import { Secret } from "#core/domain/secret.ts";
import type { DatabaseAccount } from "#core/ports/database-account.ts";
import { openRotatingAccount } from "./account.ts";
import { openPool } from "./pool.ts";

const ACCOUNT: DatabaseAccount = { user: "app", password: new Secret("a") };
const never = () => new Promise<DatabaseAccount>(() => {});

test("a connection is waited for no longer than its deadline, whatever the account does", {
  timeout: 5_000,
}, async () => {
  const account = openRotatingAccount(never, null);
  const mysqlUrl = "mysql://127.0.0.1:9";
  const pool = openPool({ mysqlUrl, database: "x", size: 2, logger: null, account });
  const startMs = performance.now();
  const asked = [pool.acquire(50), pool.acquire(100)];
  for (const one of await Promise.allSettled(asked))
    assert.ok(one.status === "rejected" && one.reason instanceof StoreUnavailable);
  assert.ok(performance.now() - startMs < 2_000);
  await pool.close();
});

test("who waits longer gets the account that others have given up; it is asked for once", async () => {
  const { promise, resolve } = Promise.withResolvers<DatabaseAccount>();
  let fetched = 0;
  const account = openRotatingAccount(() => {
    fetched++;
    return promise;
  }, null);
  const patient = account.current(5_000);
  await assert.rejects(account.current(10), StoreUnavailable);
  resolve(ACCOUNT);
  assert.equal(await patient, ACCOUNT);
  assert.equal(await account.current(10), ACCOUNT);
  assert.equal(fetched, 1);
});

test("an account that never comes is asked for anew, at first and after a refusal", async () => {
  const answers = [never(), Promise.resolve(ACCOUNT), never()];
  const account = openRotatingAccount(() => answers.shift() ?? Promise.resolve(ACCOUNT), null, 20);
  await assert.rejects(account.current(5_000), StoreUnavailable);
  const known = await account.current(5_000);
  // A refusal just after the fetch says nothing new.
  assert.equal(await account.after(known, 5_000), known);
  await new Promise((resolve) => setTimeout(resolve, 1_010));
  await assert.rejects(account.after(known, 5), StoreUnavailable);
  await assert.rejects(account.after(known, 5_000), StoreUnavailable);
  assert.equal(await account.after(known, 5_000), known);
});

test("of an account that was refused a new password is another one, and so is a new user; all go on with it", async () => {
  let nowMs = 0;
  const now = mock.method(performance, "now", () => nowMs);
  const rotated: readonly DatabaseAccount[] = [
    { user: "app", password: new Secret("b") },
    { user: "app2", password: new Secret("b") },
  ];
  const answers = [ACCOUNT, { ...ACCOUNT }, ...rotated];
  let fetched = 0;
  const fetch = async () => answers[fetched++] ?? ACCOUNT;
  const account = openRotatingAccount(fetch, null);
  const first = await account.current(1_000);
  nowMs += 1_000;
  assert.equal(await account.after(first, 1_000), first, "the same account is not another one");
  let refused = first;
  for (const next of rotated) {
    nowMs += 1_000;
    assert.equal(await account.after(refused, 1_000), next);
    const asked = fetched;
    assert.equal(await account.after(refused, 1_000), next, "who was refused too hears of it");
    assert.equal(await account.current(1_000), next);
    assert.equal(fetched, asked);
    refused = next;
  }
  now.mock.restore();
});
