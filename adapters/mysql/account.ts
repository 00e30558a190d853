/**
 * The account with which pools connect, where it is rotated while they are open: fetched when the first connection is made, and
 * again once when the server refuses it. Connections that are open stay; the password of a session is never asked for again.
 */
import { StoreUnavailable } from "#core/domain/errors.ts";
import type { DatabaseAccount, FetchAccount } from "#core/ports/database-account.ts";
import type { Logger } from "#core/ports/logger.ts";

/** Both throw StoreUnavailable when there is no answer within `deadlineMs`; others still wait for it. */
export interface RotatingAccount {
  current(deadlineMs: number): Promise<DatabaseAccount>;
  /** What to try after `account` was refused: the same one when nothing else is known yet. */
  after(account: DatabaseAccount, deadlineMs: number): Promise<DatabaseAccount>;
}

/** The server may refuse every connection for a while: it is not asked for each of them where the account is kept. */
const ASKED_AGAIN_MS = 1_000;
/** Nobody waits so long for one that does not answer: the next one asks anew. */
const FETCH_MS = 10_000;

/** One for all pools of a process. */
export function openRotatingAccount(
  fetch: FetchAccount,
  logger: Logger | null,
  fetchMs = FETCH_MS,
): RotatingAccount {
  let known: DatabaseAccount | null = null;
  let fetchedAtMs = Number.NEGATIVE_INFINITY;
  let asked: Promise<DatabaseAccount> | null = null;
  const ask = (): Promise<DatabaseAccount> => {
    asked ??= within(fetch(), fetchMs)
      .then((account) => {
        fetchedAtMs = performance.now();
        // Who holds the same account should not take it for another one.
        if (known === null || !isSame(known, account)) known = account;
        return known;
      })
      .finally(() => {
        asked = null;
      });
    return asked;
  };
  return {
    async current(deadlineMs) {
      return known ?? within(ask(), deadlineMs);
    },
    async after(account, deadlineMs) {
      if (known !== null && known !== account) return known;
      if (asked === null && performance.now() - fetchedAtMs < ASKED_AGAIN_MS) return account;
      const next = await within(ask(), deadlineMs);
      if (next !== account)
        logger?.warn("MySQL refused the account: it was rotated, going on with the new one");
      return next;
    },
  };
}

async function within<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const refuse = () =>
      reject(
        new StoreUnavailable(
          `the database's account was not known within ${Math.round(deadlineMs)} ms`,
        ),
      );
    timer = setTimeout(refuse, deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isSame(a: DatabaseAccount, b: DatabaseAccount): boolean {
  return a.user === b.user && a.password.reveal() === b.password.reveal();
}
